//! A simulator of six algorithms that save a game's state to disk, and a store that runs these and six later ones for real. The
//! six are from M. Vaz Salles et al., "An Evaluation of Checkpoint Recovery for Massively Multiplayer Online Games", VLDB 2009.
//!
//! A state is a table of cells, which is cut into objects. A source gives the cells that each tick updates. A [`tick::Tick`] has
//! what the algorithms need to know of these updates, and is made once for all of them. A [`simulation::Simulation`] runs one
//! [`algorithm::Algorithm`] under the cost model. The module `store` keeps a state on a real disk.

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
