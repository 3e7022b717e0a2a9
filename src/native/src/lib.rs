//! The native parts of Tickdisk, which Python imports as `tickdisk._native`. They are the emulated device, the issuer of replays,
//! the readers of trace files, the count of reuse distances, the simulator of storage pools, the simulator of checkpoint algorithms,
//! and the store that runs these algorithms for real.
//!
//! The emulated device is a FUSE file system that answers each request at the time that the device's model gives. Its bytes are
//! in memory or in a backing folder.

#![cfg_attr(not(feature = "python"), allow(dead_code, unused_imports, reason = "only Python uses most parts"))]

mod arrivals;
mod burner;
mod checkpoint;
mod clock;
mod disk;
mod engine;
mod formats;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod image;
mod log;
mod memory;
mod model;
mod mounted;
mod order;
mod pools;
mod preads;
mod realtime;
mod replay;
mod reuse;
mod softirq;
mod streams;
mod timer;
mod tree;
mod undo;

#[cfg(feature = "python")]
mod python;
