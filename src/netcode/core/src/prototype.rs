//! The interface of a prototype, which is a game under which stacks are compared.

use crate::records::Records;
use crate::trace::Action;

/// A prototype of a game.
pub trait Prototype: Send + Sync {
    /// Name for the command line.
    fn name(&self) -> &'static str;

    /// Description in one sentence.
    fn about(&self) -> &'static str;

    /// Makes a new world.
    fn world(&self) -> Box<dyn World>;

    /// Returns the input that stands for an action of a player's trace, or the reason why the prototype has no such action.
    ///
    /// # Errors
    ///
    /// If the prototype does not have the action, or a parameter is missing.
    fn input(&self, action: &Action) -> Result<Vec<u8>, String>;
}

/// The authoritative state of a game.
pub trait World: Send {
    /// Takes in a new player. Players have numbers from 1 on, which are also the numbers of their records.
    fn join(&mut self, player: u32);

    /// Removes a player.
    fn leave(&mut self, player: u32);

    /// Takes in an input of a player. An input that the prototype does not understand is ignored.
    fn act(&mut self, player: u32, input: &[u8]);

    /// Steps by one update.
    fn update(&mut self);

    /// The state.
    fn records(&mut self) -> &mut Records;
}
