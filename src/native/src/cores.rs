//! How many cores a thread may run on.

use std::mem;

/// Whether the calling thread has one core, and who started the process has more.
pub fn has_one_of_several() -> bool {
    allowed(0) == Some(1) && has_several()
}

/// Whether who started the process may run on several cores, so that one can be taken without stopping all others.
pub fn has_several() -> bool {
    // SAFETY: asks for a number.
    allowed(unsafe { libc::getppid() }) > Some(1)
}

/// How many cores a thread may run on; 0 is the calling one.
fn allowed(thread: libc::pid_t) -> Option<libc::c_int> {
    // SAFETY: a set of bits that may have any value, which the kernel fills, and which is read if it has.
    unsafe {
        let mut cores: libc::cpu_set_t = mem::zeroed();
        (libc::sched_getaffinity(thread, size_of_val(&cores), &raw mut cores) == 0).then(|| libc::CPU_COUNT(&cores))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_that_was_put_on_a_core_has_one() {
        let of_one_core = thread::spawn(|| {
            // SAFETY: a set of bits with the one of the core that this thread is on; it changes this thread only.
            unsafe {
                let mut own: libc::cpu_set_t = mem::zeroed();
                libc::CPU_SET(usize::try_from(libc::sched_getcpu()).unwrap(), &mut own);
                assert_eq!(libc::sched_setaffinity(0, size_of_val(&own), &raw const own), 0);
            }
            assert_eq!((allowed(0), has_one_of_several()), (Some(1), has_several()));
        });
        of_one_core.join().unwrap();
    }
}
