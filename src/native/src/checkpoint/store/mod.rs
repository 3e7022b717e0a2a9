//! A game's state that is kept for real: the algorithms on memory, files and threads, and the way back after a crash.
//!
//! The thread of the game updates a [`keeper::Keeper`]; at the end of a tick, when the last checkpoint is written, it begins the next one and
//! gives its [`keeper::Job`] to the writer's thread, which fills [`files`]. Meanwhile [`actions`] logs what happened. [`recover`] makes a world of
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
