//! The clock of the comparison, which all processes of a machine share.

/// Number of updates of the world per second.
pub const UPDATES_PER_S: u64 = 60;
/// Time from an update to the next, in ns.
pub const UPDATE_NS: u64 = 1_000_000_000 / UPDATES_PER_S;

/// Returns the time in ns of `CLOCK_MONOTONIC`.
///
/// # Panics
///
/// If the kernel has no such clock, which no kernel lacks.
#[must_use]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    assert_eq!(failed, 0, "the kernel has a monotonic clock");
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Sleeps until a time of `now_ns`. Timers of asynchronous libraries have a grain of a millisecond, and this has none.
pub fn sleep_until(at_ns: u64) {
    let time = libc::timespec { tv_sec: (at_ns / 1_000_000_000).cast_signed(), tv_nsec: (at_ns % 1_000_000_000).cast_signed() };
    while now_ns() < at_ns {
        // SAFETY: `time` outlives the call. If a signal interrupts the sleep, the loop sleeps again.
        unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const time, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_at_its_time_and_not_before() {
        let until = now_ns() + 3_000_000;
        sleep_until(until);
        assert!((until..until + 500_000_000).contains(&now_ns()));
        sleep_until(until);
    }
}
