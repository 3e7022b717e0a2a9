//! The clocks of the kernel, in nanoseconds.

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call, and both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Returns the time of `CLOCK_MONOTONIC`, in ns.
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Returns the CPU time of the calling thread, in ns.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}
