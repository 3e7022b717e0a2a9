//! A timer without the grain of a millisecond that those of the asynchronous library have.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use tokio::io::unix::AsyncFd;

use crate::clock::now_ns;

/// A timer of the kernel.
pub struct Alarm {
    timer: AsyncFd<OwnedFd>,
    at_ns: u64,
}

impl Alarm {
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call has no memory.
        let number = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: nobody else owns the descriptor that was just made, and it stays open as long as the timer that owns it.
        let timer = unsafe { AsyncFd::register(OwnedFd::from_raw_fd(number)) };
        Ok(Self { timer: timer?, at_ns: 0 })
    }

    /// Waits until a time of `now_ns`. If the future is dropped, nothing is lost.
    pub async fn until(&mut self, at_ns: u64) -> io::Result<()> {
        if at_ns != self.at_ns {
            self.set(at_ns)?;
            self.at_ns = at_ns;
        }
        while now_ns() < at_ns {
            self.timer.readable().await?.clear_ready();
        }
        Ok(())
    }

    fn set(&self, at_ns: u64) -> io::Result<()> {
        // Zero would stop the timer.
        let at_ns = at_ns.clamp(1, i64::MAX.cast_unsigned());
        let value =
            libc::timespec { tv_sec: (at_ns / 1_000_000_000).cast_signed(), tv_nsec: (at_ns % 1_000_000_000).cast_signed() };
        let timer = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // SAFETY: `timer` outlives the call.
        let failed = unsafe {
            libc::timerfd_settime(
                self.timer.get_ref().as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &raw const timer,
                std::ptr::null_mut(),
            )
        };
        if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_wakes_at_its_time_and_can_be_set_again() {
        const MS: u64 = 1_000_000;
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let mut alarm = Alarm::new().unwrap();
            for wait_ns in [3 * MS, 0, 7 * MS] {
                let at_ns = now_ns() + wait_ns;
                tokio::select! {
                    biased;
                    () = std::future::ready(()) => {}
                    _ = alarm.until(at_ns + 1000 * MS) => unreachable!(),
                }
                alarm.until(at_ns).await.unwrap();
                assert!((at_ns..at_ns + 500 * MS).contains(&now_ns()));
            }
        });
    }
}
