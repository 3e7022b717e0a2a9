//! The native parts of Tickdisk: the emulated device (a disk in memory, behind FUSE, that answers when its model says so), the
//! issuer of replays, and the simulator of checkpoint recovery.

#![cfg_attr(not(feature = "python"), allow(dead_code, reason = "only Python mounts a disk"))]

mod arrivals;
mod burner;
mod checkpoint;
mod clock;
mod disk;
mod engine;
mod log;
mod memory;
mod model;
mod mounted;
mod preads;
mod realtime;
mod replay;
mod softirq;
mod streams;
mod timer;
mod tree;
mod undo;

#[cfg(feature = "python")]
mod python;
