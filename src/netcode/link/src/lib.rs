//! A link between two network namespaces, which delays, loses, reorders and slows down packets as a model says.
//!
//! Each end is a TUN device, so that the link is an ordinary program and needs no module of the kernel. The same seed makes the same
//! choices for the same packets.

mod carry;
mod line;
mod tun;

pub use carry::{Carried, carry};
pub use line::{Conditions, Counts};
pub use tun::open;
