//! What the engine has done: what it counts, and what it says of it.

use std::sync::atomic::{AtomicU32, AtomicU64};

use super::Setting;

#[derive(Default)]
pub struct Counters {
    pub requests: [AtomicU64; 4],
    pub bytes: [AtomicU64; 4],
    pub inflight: AtomicU32,
    pub max_inflight: AtomicU32,
    pub stamped: AtomicU64,
    pub failed: AtomicU64,
}

/// What the engine has done since it was made.
#[derive(Clone, Debug)]
pub struct Status {
    /// By operation, in the order of [`Op::ALL`].
    pub requests: [u64; 4],
    pub bytes: [u64; 4],
    pub inflight: u32,
    pub max_inflight: u32,
    /// Requests of which the kernel said when they reached the block device; of the others arrival is when they are taken.
    pub stamped: u64,
    pub log_written: u64,
    pub log_lost: u64,
    pub burn_owed_ns: u64,
    pub setting: Setting,
    pub number: u32,
    /// Begin and end of every stall.
    pub stalls: Vec<(u64, u64)>,
    /// Requests that a power cut failed, or that came from before one.
    pub failed: u64,
    /// Versions of pages that a power cut could take; `None`: the device is not volatile.
    pub unflushed_pages: Option<usize>,
}
