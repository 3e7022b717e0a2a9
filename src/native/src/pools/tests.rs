use super::*;
use crate::model::{Latency, Parameters};
use crate::pools::{Array, Group, Layout, depend};

const KIB: u64 = 1024;
const US: u64 = 1000;

fn group(devices: u64, layout: Layout, delay_us: u64) -> Group {
    let latency_ns = [delay_us, delay_us, delay_us, 0].map(|us| Latency::Constant(us * US));
    let parameters = Parameters { latency_ns, channels: 1.try_into().ok(), ..Parameters::default() };
    Group::new(Array { devices, chunk_bytes: 64 * KIB, layout }, &parameters)
}

fn plain(latency_us: u64) -> Pool {
    Pool::new(group(1, Layout::Copies(1), latency_us), Metadata::None, None)
}

fn record(begin_us: u64, end_us: u64, is_write: bool, page: u64, pages: u64) -> Record {
    Record { begin_ns: begin_us * US, end_ns: end_us * US, is_write, page, pages, is_inserted: false }
}

fn settings(queue_depth: usize) -> Settings {
    Settings { queue_depth, most_pages: 2048, is_timed: false }
}

fn dependencies(requests: &[Record]) -> Vec<u32> {
    depend(requests).last_ended
}

fn done_us(outcomes: &[Outcome]) -> Vec<u64> {
    outcomes.iter().map(|outcome| outcome.done_ns / US).collect()
}

#[test]
fn requests_wait_for_their_dependency_and_for_the_device() {
    // The second and the third overlap, so both depend on the first. The device has one channel of 10 us.
    let requests = [record(0, 1, true, 0, 1), record(2, 9, true, 1, 1), record(3, 8, true, 2, 1), record(9, 10, false, 0, 1)];
    let (outcomes, counts, _) = run(&requests, &dependencies(&requests), plain(10), settings(8));
    assert_eq!(done_us(&outcomes), [10, 20, 30, 40]);
    assert_eq!(counts, Counts { reads: 1, prewrites: 1, postwrites: 2, splits: 0 });
    assert_eq!(outcomes[3].ready_ns, 20 * US);
}

#[test]
fn the_queue_holds_as_many_as_it_may() {
    let requests: Vec<_> = (0..4).map(|page| record(0, 5, true, page, 1)).collect();
    let free = Pool::new(
        Group::new(
            Array { devices: 1, chunk_bytes: 64 * KIB, layout: Layout::Copies(1) },
            &Parameters { latency_ns: [10 * US, 10 * US, 0, 0].map(Latency::Constant), ..Parameters::default() },
        ),
        Metadata::None,
        None,
    );
    let (outcomes, _, free) = run(&requests, &[0; 4], free, settings(2));
    assert_eq!(done_us(&outcomes), [10, 10, 20, 20]);
    let (outcomes, _, _) = run(&requests, &[0; 4], free, Settings { most_pages: 1, ..settings(4) });
    assert_eq!(done_us(&outcomes), [10, 20, 30, 40]);
}

#[test]
fn a_timed_request_also_waits_for_its_time() {
    let requests = [record(5, 6, true, 0, 1), record(105, 106, true, 1, 1)];
    let (outcomes, _, _) = run(&requests, &dependencies(&requests), plain(10), Settings { is_timed: true, ..settings(8) });
    assert_eq!(done_us(&outcomes), [10, 110]);
    assert_eq!(outcomes[1].ready_ns, 100 * US);
}

#[test]
fn requests_are_split_at_segments_and_the_identity_holds() {
    let requests = [record(0, 1, true, 60, 8), record(2, 3, true, 62, 1), record(4, 5, false, 0, 200)];
    let complete: Vec<_> = complete(requests.into_iter());
    let (_, counts, _) = run(&complete, &dependencies(&complete), plain(1), settings(8));
    let identity = counts.reads + counts.prewrites + counts.postwrites - counts.splits;
    assert_eq!(identity, complete.len() as u64);
    assert_eq!(counts.prewrites, 4, "the segments 0 to 3 are written a first time once each");
}

#[test]
fn raid_costs_what_the_arithmetic_says() {
    // A write of one page reads and then writes data and two parities: two steps of 10 us, on three of ten disks.
    let raid = Pool::new(group(10, Layout::Parities(2), 10), Metadata::None, None);
    let requests = [record(0, 1, true, 0, 1)];
    let (outcomes, _, pool) = run(&requests, &[0], raid, settings(8));
    assert_eq!(done_us(&outcomes), [20]);
    let [data, _, _] = pool.served();
    let sums = data.iter().fold([0; 4], |sum, one| std::array::from_fn(|n| sum[n] + one[n]));
    assert_eq!(sums, [3, 3 * 4096, 3, 3 * 4096]);
}

#[test]
fn metadata_are_written_before_a_new_segment_and_only_then() {
    let pool = Pool::new(group(1, Layout::Copies(1), 10), Metadata::Own(group(2, Layout::Copies(2), 3)), None);
    let requests = [record(0, 1, true, 0, 1), record(2, 3, true, 1, 1)];
    let (outcomes, _, pool) = run(&requests, &dependencies(&requests), pool, settings(8));
    assert_eq!(done_us(&outcomes), [13, 23]);
    assert_eq!(pool.served()[1], [[0, 0, 1, 4096]; 2]);
}

#[test]
fn a_full_tier_gives_its_oldest_segment_to_the_data_devices() {
    let pool = Pool::new(group(1, Layout::Copies(1), 50), Metadata::None, Some((group(1, Layout::Copies(1), 10), 2)));
    let requests: Vec<_> = [0, 1, 0, 2, 0, 1]
        .iter()
        .zip(0..)
        .map(|(segment, number)| record(2 * number, 2 * number + 1, number < 4, segment * SEGMENT_PAGES, 1))
        .collect();
    let (outcomes, _, pool) = run(&requests, &dependencies(&requests), pool, settings(8));
    // Segment 1 leaves for segment 2. Then segment 0 is read from the tier, and segment 1 from the data devices, which is also
    // busy with the four chunks that moved.
    assert_eq!(pool.moved(), 1);
    let [data, _, tier] = pool.served();
    assert_eq!(data, [[1, 4096, 4, 256 * KIB]]);
    assert_eq!(tier, [[5, 256 * KIB + 4096, 4, 4 * 4096]]);
    assert_eq!(done_us(&outcomes)[..4], [10, 20, 30, 40]);
}
