//! The paper's micro-benchmarks, which measure the parameters of the cost model on this machine.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};

use super::super::bits::Bits;
use super::super::random::Random;
use super::arena::Arena;
use super::board::Stopwatch;
use super::recover::new_world;

/// The measured times, each the median over rounds.
#[allow(clippy::struct_field_names, reason = "the unit is in the name")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Micro {
    /// Time of one copy of the whole state.
    pub copy_all_ns: f64,
    /// Time to copy an object at a random place of the state.
    pub copy_random_ns: f64,
    /// Time to take and release one lock, over and over.
    pub lock_ns: f64,
    /// Time to count dirty bits, per bit.
    pub bit_ns: f64,
}

#[allow(clippy::cast_precision_loss, reason = "nanoseconds of some seconds")]
fn median(mut rounds: Vec<u64>, of: usize) -> f64 {
    rounds.sort_unstable();
    rounds[rounds.len() / 2] as f64 / of as f64
}

/// Measures each time `rounds` times on a state of `objects` objects. The `seed` decides the random places.
pub fn measure(objects: usize, rounds: usize, seed: u64) -> io::Result<Micro> {
    let (state, copy) = (new_world(objects)?, Arena::new(objects)?);
    copy.copy(0, &state, 0, objects);
    let mut random = Random::new(seed);
    let some = objects.min(200_000);
    let below = u32::try_from(objects).map_err(io::Error::other)?;
    let places: Vec<usize> = (0..some).map(|_| random.below(below) as usize).collect();
    let time = |work: &dyn Fn()| -> Vec<u64> {
        let round = |_| {
            let mut clock = Stopwatch::start();
            work();
            clock.lap()
        };
        (0..rounds.max(1)).map(round).collect()
    };
    let copy_all = time(&|| copy.copy(0, &state, 0, objects));
    let copy_random = time(&|| places.iter().for_each(|place| copy.copy(*place, &state, *place, 1)));
    let one = AtomicBool::new(false);
    let lock = time(&|| {
        for _ in 0..some {
            while one.compare_exchange_weak(false, true, Acquire, Acquire).is_err() {}
            one.store(false, Release);
        }
    });
    let bits = Bits::new(64 * some, true);
    let bit = time(&|| {
        black_box(bits.count());
    });
    Ok(Micro {
        copy_all_ns: median(copy_all, 1),
        copy_random_ns: median(copy_random, some),
        lock_ns: median(lock, some),
        bit_ns: median(bit, 64 * some),
    })
}
