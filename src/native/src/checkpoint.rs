//! Checkpoint recovery of a game's state, simulated: M. Vaz Salles et al., "An Evaluation of Checkpoint Recovery for
//! Massively Multiplayer Online Games", VLDB 2009.
//!
//! A source gives the cells that each tick updates; a [`tick::Tick`] is what the algorithms need to know of them, made once
//! for all; a [`simulation::Simulation`] is one of the six [`algorithm::Algorithm`]s under the cost model.

mod algorithm;
mod bits;
mod game;
mod random;
mod simulation;
mod source;
mod store;
mod tick;
mod zipf;

#[cfg(feature = "python")]
pub mod python;
#[cfg(feature = "python")]
pub use store::python as store_python;
