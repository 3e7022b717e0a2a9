//! Counters of the engine's requests, and the status that is made from them.

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

/// Counts of all that the engine has done since it was made, and the setting in force.
#[derive(Clone, Debug)]
pub struct Status {
    /// Number of requests by operation, in the order of [`Op::ALL`].
    pub requests: [u64; 4],
    /// Bytes by operation, in the same order.
    pub bytes: [u64; 4],
    pub inflight: u32,
    pub max_inflight: u32,
    /// Number of requests for which the kernel said when they reached the block device. The other requests arrive when they are
    /// taken.
    pub stamped: u64,
    pub log_written: u64,
    /// Number of answered requests that have no record in the log.
    pub log_lost: u64,
    pub burn_owed_ns: u64,
    pub setting: Setting,
    pub number: u32,
    /// Begin and end of every ordered stall, in ns.
    pub stalls: Vec<(u64, u64)>,
    /// Number of requests that a power cut failed, or that came from programs that had opened the disk before a cut.
    pub failed: u64,
    /// Number of versions of pages that a power cut could take. `None` if the device is not volatile.
    pub unflushed_pages: Option<usize>,
}
