//! The emulated device of Tickdisk: a disk in memory, behind FUSE, that answers when its model says so.

#![cfg_attr(not(feature = "python"), allow(dead_code, reason = "only Python mounts a disk"))]

mod burner;
mod clock;
mod disk;
mod engine;
mod floor;
mod log;
mod memory;
mod model;
mod mounted;
mod preads;
mod realtime;
mod replay;
mod streams;
mod timer;
mod tree;
mod undo;

#[cfg(feature = "python")]
mod python;
