//! Gives threads real-time priority (`SCHED_FIFO`). If that is not allowed, nothing changes.

/// Gives the calling thread, and the threads that it starts from now on, real-time priority. Returns whether that was allowed.
pub fn take() -> bool {
    set(libc::SCHED_FIFO, 1)
}

/// Returns whether the calling thread has real-time priority.
pub fn is_taken() -> bool {
    // SAFETY: the call takes a number only. 0 stands for the calling thread.
    unsafe { libc::sched_getscheduler(0) == libc::SCHED_FIFO }
}

/// Makes the calling thread ordinary again.
pub fn give_up() {
    set(libc::SCHED_OTHER, 0);
}

/// Calls `run` with real-time priority, if that is allowed, and returns its result. A thread that holds a lock of the device must
/// not wait for an ordinary thread, because the device's threads would then wait, too.
pub fn with<T>(run: impl FnOnce() -> T) -> T {
    let raised = !is_taken() && take();
    let result = run();
    if raised {
        give_up();
    }
    result
}

fn set(policy: libc::c_int, priority: libc::c_int) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the call changes the calling thread only, and the parameters outlive the call.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}
