//! A store that keeps a game's state on a real disk under one of twelve algorithms, and recovers the state after a crash.
//!
//! The game's thread updates a [`keeper::Keeper`], which has the state in memory under one algorithm. At the end of a tick, if
//! the last checkpoint is written, the keeper begins the next checkpoint and gives its [`keeper::Job`] to the writer's thread,
//! which writes [`files`]. Meanwhile, [`actions`] logs the updates of every tick. After a crash, [`recover`] makes a state from
//! the folder again.

mod actions;
mod arena;
mod board;
mod calc;
mod files;
mod folder;
mod forked;
mod format;
mod framework;
mod keeper;
mod life;
mod marks;
mod micro;
mod recover;
mod swapped;

#[cfg(feature = "python")]
pub mod python;
