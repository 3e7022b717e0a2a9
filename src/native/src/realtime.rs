//! Threads that run as soon as they can, before those of ordinary priority; where that is not allowed, nothing changes.

/// Lets the calling thread run before all of ordinary priority (`SCHED_FIFO`), and those that it starts; whether it may.
pub fn take() -> bool {
    set(libc::SCHED_FIFO, 1)
}

/// Whether the calling thread does.
pub fn is_taken() -> bool {
    // SAFETY: takes a number only; 0 is the calling thread.
    unsafe { libc::sched_getscheduler(0) == libc::SCHED_FIFO }
}

/// Makes the calling thread ordinary again.
pub fn give_up() {
    set(libc::SCHED_OTHER, 0);
}

/// Calls `run` before all threads of ordinary priority, where that is allowed. A thread that holds a lock of the device's threads must
/// not be stopped for an ordinary one, because they would wait for both.
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
    // SAFETY: changes the calling thread only; the parameters outlive the call.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}
