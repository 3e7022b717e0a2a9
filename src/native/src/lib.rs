//! The native parts of Tickdisk: the emulated device (a disk in memory, behind FUSE, that answers when its model says so), the
//! issuer of replays, and the simulator of checkpoint recovery.

#![cfg_attr(not(feature = "python"), allow(dead_code, reason = "only Python mounts a disk"))]

mod burner;
mod checkpoint;
mod clock;
mod disk;
mod engine;
mod log;
mod memory;
mod model;
mod preads;
mod replay;
mod timer;

#[cfg(feature = "python")]
mod python;
