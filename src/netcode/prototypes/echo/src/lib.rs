//! A tiny prototype, which shows that prototypes are added without touching anything else: each player has a number, and each
//! input adds to it.

use std::collections::BTreeMap;

use netcode::{Action, Prototype, Records, World};

/// The prototype.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo;

impl Prototype for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn about(&self) -> &'static str {
        "each player has a number that its inputs raise"
    }

    fn world(&self) -> Box<dyn World> {
        Box::<Numbers>::default()
    }

    fn input(&self, action: &Action) -> Result<Vec<u8>, String> {
        Ok(vec![u8::try_from(action.kind.len()).unwrap_or(u8::MAX)])
    }
}

#[derive(Default)]
struct Numbers {
    players: BTreeMap<u32, i32>,
    records: Records,
}

impl World for Numbers {
    fn join(&mut self, player: u32) {
        self.players.insert(player, 0);
    }

    fn leave(&mut self, player: u32) {
        self.players.remove(&player);
        self.records.set(player, None);
    }

    fn act(&mut self, player: u32, input: &[u8]) {
        if let (Some(number), [value]) = (self.players.get_mut(&player), input) {
            *number = number.wrapping_add(i32::from(*value));
        }
    }

    fn update(&mut self) {
        for (&player, &number) in &self.players {
            self.records.set(player, Some([number, 0, 0, 0]));
        }
    }

    fn records(&mut self) -> &mut Records {
        &mut self.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_add_up() {
        let mut world = Echo.world();
        world.join(3);
        world.act(3, &[5]);
        world.act(3, &[6]);
        world.act(4, &[6]);
        world.update();
        assert_eq!(world.records().get(3), Some(&[11, 0, 0, 0]));
        assert_eq!(world.records().len(), 1);
    }
}
