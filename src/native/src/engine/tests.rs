use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use super::*;
use crate::model::{Latency, Request};

/// An answer that tells the test the time at which it was sent, or 0 for an error.
struct Tell(Sender<u64>);
impl Answer for Tell {
    fn send(self, _: &Memory) {
        self.0.send(now_ns()).unwrap();
    }
    fn fail(self) {
        self.0.send(0).unwrap();
    }
}

const SOON: Duration = Duration::from_secs(5);

fn end(engine: &Engine<Tell>, threads: Vec<JoinHandle<()>>) {
    engine.stop();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn latency(ns: u64) -> Parameters {
    Parameters { latency_ns: [ns; 4].map(Latency::Constant), ..Parameters::default() }
}

#[test]
fn a_setting_is_for_requests_that_arrive_after_it() {
    let (engine, threads) = Engine::start(1 << 20, None, false).unwrap();
    let (sender, receiver) = channel();
    let answered_after = |latency_ns, floor_ns| {
        let (number, effective_ns) = engine.set(latency(latency_ns), Setting { floor_ns, burn_ns: 0 });
        engine.submit(0, Op::Read, 0, 4096, Tell(sender.clone()));
        let answered_ns = receiver.recv_timeout(SOON).unwrap();
        (number, answered_ns - effective_ns)
    };
    let (first, slow_ns) = answered_after(2_000_000_000, 0);
    let (second, early_ns) = answered_after(2_000_000_000, 1_500_000_000);
    let (third, at_once_ns) = answered_after(1_000, 500_000_000);
    assert_eq!((first, second, third), (1, 2, 3));
    assert!(slow_ns >= 2_000_000_000);
    assert!((500_000_000..2_000_000_000).contains(&early_ns));
    assert!(at_once_ns < 500_000_000);
    let status = engine.status();
    assert_eq!((status.requests, status.bytes, status.inflight), ([3, 0, 0, 0], [12_288, 0, 0, 0], 0));
    assert!(engine.cut(0.0, 0).is_none(), "the device is not volatile");
    end(&engine, threads);
}

#[test]
fn a_cut_fails_what_is_pending_and_a_flush_that_was_not_answered_saved_nothing() {
    let (engine, threads) = Engine::start(1 << 20, None, true).unwrap();
    let (sender, receiver) = channel();
    let tell = || Tell(sender.clone());
    let power = engine.open();
    engine.write(power, 0, &[1; 4096], tell());
    engine.submit(power, Op::Flush, 0, 0, tell());
    engine.set(latency(3_600_000_000_000), Setting::default());
    engine.write(power, 0, &[2; 8192], tell());
    engine.submit(power, Op::Flush, 0, 0, tell());
    engine.submit(power, Op::Read, 0, 4096, tell());
    let answered = |count: usize| (0..count).map(|_| receiver.recv_timeout(SOON).unwrap()).collect::<Vec<_>>();
    assert!(answered(2).iter().all(|at| *at > 0));
    assert_eq!(engine.status().unflushed_pages, Some(2));
    let cut = engine.cut(0.0, 0).unwrap();
    assert_eq!((cut.requests_failed, cut.versions), (3, Versions { dropped: 2, kept: 0 }));
    assert_eq!(answered(3), [0; 3]);
    assert_eq!((engine.memory.read(0, 1), engine.memory.read(4096, 1)), (vec![1], vec![0]));

    engine.write(power, 0, &[3; 4096], tell());
    assert_eq!((answered(1), engine.memory.read(0, 1)), (vec![0], vec![1]), "the disk was opened before the cut");
    engine.write(engine.open(), 0, &[4; 4096], tell());
    assert!(answered(1)[0] > 0, "the device answers at once");
    assert_eq!(engine.power_on().0, 3);
    engine.write(engine.open(), 4096, &[5; 4096], tell());
    assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "the answer is due in an hour");
    let status = engine.status();
    assert_eq!((status.failed, status.inflight, status.unflushed_pages), (4, 1, Some(2)));
    assert_eq!(engine.memory.read(0, 1), [4]);
    end(&engine, threads);
}

/// A writer that flushes after each round runs while the power is cut. Each page then holds a number that was written, and no
/// older one than the last that a flush has saved.
#[test]
fn a_cut_in_the_middle_loses_nothing_that_was_flushed() {
    for seed in 0..20u64 {
        let (engine, threads) = Engine::start(1 << 20, None, true).unwrap();
        engine.set(latency(20_000), Setting::default());
        let power = engine.open();
        let writer = {
            let engine = Arc::clone(&engine);
            thread::spawn(move || {
                let (sender, receiver) = channel();
                let (mut number, mut saved) = (0u64, 0);
                loop {
                    number += 1;
                    for page in 0..256 {
                        engine.write(power, page * 4096, &number.to_le_bytes(), Tell(sender.clone()));
                    }
                    engine.submit(power, Op::Flush, 0, 0, Tell(sender.clone()));
                    let answers: Vec<u64> = (0..257).map(|_| receiver.recv_timeout(SOON).unwrap()).collect();
                    if answers.contains(&0) {
                        return (saved, number);
                    }
                    saved = number;
                }
            })
        };
        thread::sleep(Duration::from_micros(500 + 137 * seed));
        engine.cut(if seed % 2 == 0 { 0.0 } else { 0.5 }, seed).unwrap();
        let (saved, last) = writer.join().unwrap();
        for page in 0..256 {
            let number = u64::from_le_bytes(engine.memory.read(page * 4096, 8).try_into().unwrap());
            assert!((saved..=last).contains(&number), "page {page}: {number} is not from {saved} to {last}");
        }
        end(&engine, threads);
    }
}

/// Images are taken while a writer flushes after each round. Each page of an image then holds a number that was written before the
/// image, and no older one than the last that a flush had saved. The writer notices nothing.
#[test]
fn an_image_in_the_middle_has_what_was_flushed_and_the_device_goes_on() {
    const PAGES: u64 = 2048;
    let path = std::env::temp_dir().join(format!("tickdisk-engine-{}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    let (engine, threads) = Engine::start(8 << 20, None, true).unwrap();
    engine.set(latency(20_000), Setting::default());
    let (power, ends) = (engine.open(), Arc::new(AtomicBool::new(false)));
    let writer = {
        let (engine, ends) = (Arc::clone(&engine), Arc::clone(&ends));
        thread::spawn(move || {
            let (sender, receiver) = channel();
            let mut rounds = Vec::new(); // of each round from number 1 on, when it began and when it was saved
            while !ends.load(Ordering::Relaxed) {
                let (number, began_ns) = (rounds.len() as u64 + 1, now_ns());
                for page in 0..PAGES {
                    engine.write(power, page * 4096, &number.to_le_bytes(), Tell(sender.clone()));
                }
                engine.submit(power, Op::Flush, 0, 0, Tell(sender.clone()));
                assert!((0..=PAGES).all(|_| receiver.recv_timeout(SOON).unwrap() > 0));
                rounds.push((began_ns, now_ns()));
            }
            rounds
        })
    };
    let images: Vec<_> = (0..10u64)
        .map(|seed| {
            thread::sleep(Duration::from_micros(500 + 1370 * seed));
            file.set_len(0).unwrap();
            let image = engine.image(&file, if seed % 2 == 0 { 0.0 } else { 0.5 }, seed).unwrap().unwrap();
            let mut bytes = vec![0; 8 << 20];
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 0).unwrap();
            let numbers: Vec<u64> = bytes.chunks(4096).map(|page| u64::from_le_bytes(page[..8].try_into().unwrap())).collect();
            (image, numbers)
        })
        .collect();
    ends.store(true, Ordering::Relaxed);
    let rounds = writer.join().unwrap();
    for (image, numbers) in images {
        let saved = rounds.iter().filter(|(_, saved_ns)| *saved_ns < image.at_ns).count() as u64;
        let begun = rounds.iter().filter(|(began_ns, _)| *began_ns <= image.at_ns).count() as u64;
        assert!(numbers.iter().all(|number| (saved..=begun).contains(number)), "{saved} to {begun}: {numbers:?}");
    }
    let last = rounds.len() as u64;
    assert!((0..PAGES).all(|page| engine.memory.read(page * 4096, 8) == last.to_le_bytes()));
    assert_eq!(engine.status().unflushed_pages, Some(0));
    end(&engine, threads);
}

#[test]
fn a_cut_in_the_middle_of_an_image_changes_nothing_in_it() {
    let path = std::env::temp_dir().join(format!("tickdisk-cut-{}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    let (engine, threads) = Engine::start(32 << 20, None, true).unwrap();
    let (sender, _receiver) = channel();
    for number in [1u8, 2] {
        for page in 0..8192 {
            engine.write(engine.open(), page * 4096, &[number; 4096], Tell(sender.clone()));
        }
        if number == 1 {
            engine.submit(engine.open(), Op::Flush, 0, 0, Tell(sender.clone()));
        }
    }
    let imaging = {
        let (engine, file) = (Arc::clone(&engine), file.try_clone().unwrap());
        thread::spawn(move || engine.image(&file, 1.0, 0).unwrap().unwrap())
    };
    while file.metadata().unwrap().len() == 0 {} // The file gets its length after the instant of the image.
    let cut = engine.cut(0.0, 0).unwrap();
    assert_eq!((cut.versions.dropped, engine.memory.read(0, 32 << 20)), (8192, vec![1; 32 << 20]));
    let image = imaging.join().unwrap();
    assert!(image.at_ns < cut.at_ns);
    let mut bytes = vec![0; 32 << 20];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 0).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 2));
    end(&engine, threads);
}

#[test]
fn a_request_arrives_when_it_was_issued() {
    let mut state = State::new(Parameters::default());
    let (_, begin_ns) = state.begin();
    let at = |after_ns: u64| begin_ns + after_ns;
    let mut read = |offset, length, issued: Option<u64>, now| state.arrival(Op::Read, offset, length, issued, at(now)) - begin_ns;
    assert_eq!(read(0, 4096, None, 10), 10, "the time of issue is not known");
    assert_eq!(read(0, 4096, Some(at(15)), 20), 15);
    assert_eq!(read(0, 4096, Some(at(12)), 30), 15, "it is not before the last arrival");
    assert_eq!(read(0, 4096, Some(at(99)), 40), 40, "it is not later than the request is taken");
    assert_eq!(read(4096, 4096, None, 50), 50, "it follows the last request but is no part of it");
    assert_eq!(read(0, MAX_TRANSFER, Some(at(55)), 60), 55);
    assert_eq!(read(MAX_TRANSFER, MAX_TRANSFER, None, 70), 55, "the second part arrives with the first");
    assert_eq!(read(2 * MAX_TRANSFER, 8192, None, 80), 55, "the rest arrives with the first part");
    assert_eq!(read(2 * MAX_TRANSFER + 8192, 8192, None, 90), 90);
    assert_eq!(read(0, MAX_TRANSFER, Some(at(95)), 100), 95);
    let other = state.arrival(Op::Write, MAX_TRANSFER, 8192, None, at(110));
    assert_eq!(other, at(110), "another operation is no part of a read");
    let mut unknown = |offset, now| state.arrival(Op::Read, offset, MAX_TRANSFER, None, at(now)) - begin_ns;
    let stream = [(0, 120), (MAX_TRANSFER, 130), (2 * MAX_TRANSFER, 140)].map(|(offset, now)| unknown(offset, now));
    assert_eq!(stream, [120, 130, 140], "a stream without times of issue is no large request");
    state.arrival(Op::Read, 0, MAX_TRANSFER, Some(at(150)), at(150));
    let (_, changed_ns) = state.begin();
    let after = state.arrival(Op::Read, MAX_TRANSFER, 4096, None, changed_ns + 1);
    assert_eq!(after, changed_ns + 1, "a change of the setting ends a large request");
    let next = state.arrival(Op::Read, 0, 4096, Some(at(1)), changed_ns + 5);
    assert_eq!(next, changed_ns + 1, "no request arrives before the last change of the setting");
}

#[test]
fn who_may_have_waited_for_a_completion_arrives_after_it() {
    let quantiles = vec![vec![0.0, 50_000.0, 90_000.0], vec![1.0, 50_000.0, 90_000.0]];
    let latency_ns = [(); 4].map(|()| Latency::QuantilesByInflight { inflight: vec![1.0, 2.0], quantiles: quantiles.clone() });
    let mut state = State::new(Parameters { latency_ns, ..Parameters::default() });
    let (_, begin_ns) = state.begin();
    let mut read = |came_ns: u64| {
        let arrival_ns = state.arrival(Op::Read, 0, 4096, Some(begin_ns + came_ns), begin_ns + came_ns);
        let request = Request { arrival_ns, op: Op::Read, offset: 0, length: 4096 };
        (arrival_ns - begin_ns, state.model.completion_ns(&request) - arrival_ns)
    };
    assert_eq!(read(0), (0, 50_000));
    assert_eq!(read(48_000), (50_000, 50_000), "the first request is completed");
    assert_eq!(read(49_500), (50_000, 90_000), "it is not before the last arrival, and both are in flight");
    assert_eq!(read(90_000), (90_000, 130_000), "no completion is near");
}

#[test]
fn what_is_logged_of_moved_arrivals_is_what_a_simulation_gets() {
    let quantiles = vec![vec![0.0, 5_000.0, 9_000.0], vec![1.0, 50_000.0, 90_000.0]];
    let latency_ns = [(); 4].map(|()| Latency::QuantilesByInflight { inflight: vec![1.0, 8.0], quantiles: quantiles.clone() });
    let parameters = Parameters { latency_ns, channels: std::num::NonZeroU32::new(4), ..Parameters::default() };
    let mut state = State::new(parameters.clone());
    let (_, mut came_ns) = state.begin();
    let mut logged = Vec::new();
    for number in 0..20_000u64 {
        // Three requests come together, shortly before the last completion or after it.
        let waited_ns = logged.last().map_or(0, |(_, nominal_ns, _)| nominal_ns - 6_000 + number * 37 % 10_000);
        came_ns = came_ns.max(if number % 3 == 0 { waited_ns } else { 0 });
        let arrival_ns = state.arrival(Op::Read, 0, 4096, Some(came_ns), came_ns + 500);
        let request = Request { arrival_ns, op: Op::Read, offset: 0, length: 4096 };
        logged.push((request, state.model.completion_ns(&request), arrival_ns - came_ns));
    }
    let moved = logged.iter().filter(|(.., moved_ns)| *moved_ns > 0).count();
    assert!((1_000..19_000).contains(&moved), "{moved}");
    assert!(logged.iter().all(|(.., moved_ns)| *moved_ns <= 3_000));
    assert!(logged.windows(2).all(|pair| pair[0].0.arrival_ns <= pair[1].0.arrival_ns));
    let mut simulated = Model::new(parameters);
    assert!(logged.iter().all(|(request, nominal_ns, _)| simulated.completion_ns(request) == *nominal_ns));
}
