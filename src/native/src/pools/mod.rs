//! Storage pools in simulated time, after the Shape simulator (Li, Wang and Wu): the requests of a captured program are made
//! complete, get back their dependencies, and run on pools of many devices.
//!
//! [`complete`] puts the write that creates a page before the first read of it. [`depend`] finds which request each request has
//! waited for. [`run`] issues each request when the one that it depends on is done, and lets a [`Pool`] of devices serve it. The
//! devices are those of the device model, whose completions are known when a request arrives. Events connect the steps of a request
//! that has several, such as the write of a RAID that first reads.

mod array;
mod depend;
mod devices;
mod pregen;
mod run;

pub use array::{Array, Layout};
pub use depend::depend;
pub use devices::{Group, Metadata, Pool};
pub use pregen::complete;
pub use run::{Counts, Outcome, Settings, run};

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;
/// Pages of a segment, which is the unit in which a pool gives space to a volume.
pub const SEGMENT_PAGES: u64 = 64;

/// A request of a volume for whole pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Times in the capture. An inserted write begins and ends when the read begins that needs it.
    pub begin_ns: u64,
    pub end_ns: u64,
    pub is_write: bool,
    /// First page in the space of all volumes, in which each volume has a range of its own.
    pub page: u64,
    pub pages: u64,
    /// Whether the capture does not have the request.
    pub is_inserted: bool,
}

#[cfg(test)]
mod tests;
