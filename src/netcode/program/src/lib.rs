//! The prototypes and the stacks that can be chosen. A new one is one line here.

use netcode::{Prototype, Stack};

pub const PROTOTYPES: &[&dyn Prototype] = &[&netcode_voxel::Voxel, &netcode_echo::Echo];
pub const STACKS: &[&dyn Stack] = &[&netcode_tcp::STACK, &netcode_kcp::STACK, &netcode_quic::STACK, &netcode_snapshots::STACK];
