//! How long the machine stands still: gaps in the sight of threads that do nothing but look at the clock.
//!
//! What a hypervisor takes in pieces of microseconds it does not account for as steal, and to a request of 100 us it is a lot.

use std::thread;

use crate::clock::now_ns;
use crate::realtime;

/// Of each core, how long it stood still for more than `over_ns`, each time, within `duration_ns`. The cores are looked at at the
/// same time, before all ordinary threads where that is allowed, as the emulator's run: what those do is no excuse.
pub fn standstills(cores: &[usize], duration_ns: u64, over_ns: u64) -> Vec<Vec<u64>> {
    thread::scope(|scope| {
        let looking: Vec<_> = cores.iter().map(|core| scope.spawn(move || look(*core, duration_ns, over_ns))).collect();
        looking.into_iter().map(|each| each.join().expect("it only looks")).collect()
    })
}

fn look(core: usize, duration_ns: u64, over_ns: u64) -> Vec<u64> {
    stay_on(core);
    realtime::take();
    let mut gaps_ns = Vec::with_capacity(1024);
    let begun_ns = now_ns();
    let mut last_ns = begun_ns;
    while last_ns - begun_ns < duration_ns {
        let ns = now_ns();
        if ns - last_ns > over_ns {
            gaps_ns.push(ns - last_ns);
        }
        last_ns = ns;
    }
    gaps_ns
}

/// Lets the calling thread run on one core only, where that is allowed.
fn stay_on(core: usize) {
    // SAFETY: an empty set of cores is all zeros; the kernel reads it, and changes the calling thread only.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut cores);
        libc::sched_setaffinity(0, size_of_val(&cores), &raw const cores);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn every_core_is_looked_at_for_as_long_as_asked() {
        let begun = Instant::now();
        let seen = standstills(&[0, 0], 20_000_000, 0);
        assert!(begun.elapsed() >= Duration::from_millis(20));
        assert_eq!(seen.len(), 2);
        // All gaps together are the time: nothing lies between them.
        for gaps_ns in &seen {
            let sum_ns: u64 = gaps_ns.iter().sum();
            assert!(sum_ns >= 20_000_000, "{sum_ns}");
        }
        assert_eq!(standstills(&[0], 5_000_000, u64::MAX), [Vec::<u64>::new()]);
    }
}
