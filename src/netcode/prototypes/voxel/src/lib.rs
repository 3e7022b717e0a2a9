//! The prototype of the study: a world of blocks on which players walk, jump, and place and remove blocks.
//!
//! A player who places a block while it jumps stands on it afterwards, as in the published study, in which each player builds a
//! pillar under itself. The ground is flat and endless, so that no terrain is generated.

use std::collections::BTreeMap;

use netcode::{Action, Prototype, Record, Records, UPDATES_PER_S, World};
use serde::{Deserialize, Serialize};

/// Number of units of a coordinate in a block.
const UNIT: i32 = 256;
/// Speed of a player at the begin of a jump, and by how much it falls, in units per update and per update squared. A jump is 1.1
/// blocks high, and higher than a block from the ninth to the fifteenth update, so that a player who places a block meanwhile lands
/// on it soon.
const JUMP: i32 = 46;
const GRAVITY: i32 = 4;
/// Numbers of records of blocks begin here. Those below are players.
const FIRST_BLOCK: u32 = 1 << 20;
/// Distance between the places at which players join, in blocks.
const APART: i32 = 4;
/// Number of players in a row.
const ROW: i32 = 16;
/// Stands in the last number of a player's record.
const PLAYER: i32 = 1;

/// An input of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// The player walks on at a speed, in units per update.
    Walk {
        x: i32,
        z: i32,
    },
    Jump,
    /// The player places a block where its feet are, and is lifted on it.
    Place,
    /// The player removes the block on which it stands.
    Dig,
}

/// The prototype.
#[derive(Clone, Copy, Debug, Default)]
pub struct Voxel;

impl Prototype for Voxel {
    fn name(&self) -> &'static str {
        "voxel"
    }

    fn about(&self) -> &'static str {
        "players walk and jump in a flat world, and place and remove blocks"
    }

    fn world(&self) -> Box<dyn World> {
        Box::<Blocks>::default()
    }

    fn input(&self, action: &Action) -> Result<Vec<u8>, String> {
        let parameter = |name: &str| action.parameters.get(name).copied().ok_or_else(|| format!("{} lacks {name}", action.kind));
        let input = match action.kind.as_str() {
            "walk" => {
                let (speed, yaw) = (parameter("speed_nodes_per_s")?, parameter("yaw_degrees")?.to_radians());
                #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "speeds are small")]
                let units = |part: f64| (speed * part * f64::from(UNIT) / UPDATES_PER_S as f64).round() as i32;
                Input::Walk { x: units(-yaw.sin()), z: units(yaw.cos()) }
            }
            "jump" => Input::Jump,
            "place" => Input::Place,
            "dig" => Input::Dig,
            other => return Err(format!("the prototype voxel has no action {other}")),
        };
        postcard::to_stdvec(&input).map_err(|error| error.to_string())
    }
}

struct Body {
    /// Place in units. The height is that of the feet.
    place: [i32; 3],
    speed: [i32; 2],
    rise: i32,
}

/// The world of blocks.
#[derive(Default)]
struct Blocks {
    players: BTreeMap<u32, Body>,
    /// Height of each pillar in blocks, and the records of its blocks from below.
    pillars: BTreeMap<(i32, i32), Vec<u32>>,
    next_block: u32,
    records: Records,
}

impl Blocks {
    fn column(place: &[i32; 3]) -> (i32, i32) {
        (place[0].div_euclid(UNIT), place[2].div_euclid(UNIT))
    }

    /// Returns the height of the ground under a place, in units.
    fn ground(&self, place: &[i32; 3]) -> i32 {
        let blocks = self.pillars.get(&Self::column(place)).map_or(0, Vec::len);
        i32::try_from(blocks).unwrap_or(i32::MAX / UNIT) * UNIT
    }

    fn place(&mut self, player: u32) {
        let Some(body) = self.players.get(&player) else { return };
        let column = Self::column(&body.place);
        let ground = self.ground(&body.place);
        let number = FIRST_BLOCK + self.next_block;
        self.next_block += 1;
        let record: Record = [column.0, ground / UNIT, column.1, 0];
        self.pillars.entry(column).or_default().push(number);
        self.records.set(number, Some(record));
        for body in self.players.values_mut().filter(|body| Self::column(&body.place) == column) {
            body.place[1] = body.place[1].max(ground + UNIT);
        }
    }

    fn dig(&mut self, player: u32) {
        let Some(body) = self.players.get(&player) else { return };
        if let Some(block) = self.pillars.get_mut(&Self::column(&body.place)).and_then(Vec::pop) {
            self.records.set(block, None);
        }
    }
}

impl World for Blocks {
    fn join(&mut self, player: u32) {
        let number = i32::try_from(player).unwrap_or(0) - 1;
        let place = [number % ROW * APART * UNIT + UNIT / 2, 0, number / ROW * APART * UNIT + UNIT / 2];
        self.players.insert(player, Body { place, speed: [0; 2], rise: 0 });
    }

    fn leave(&mut self, player: u32) {
        self.players.remove(&player);
        self.records.set(player, None);
    }

    fn act(&mut self, player: u32, input: &[u8]) {
        let Ok(input) = postcard::from_bytes(input) else { return };
        let ground = self.players.get(&player).map_or(0, |body| self.ground(&body.place));
        let Some(body) = self.players.get_mut(&player) else { return };
        match input {
            Input::Walk { x, z } => body.speed = [x.clamp(-UNIT, UNIT), z.clamp(-UNIT, UNIT)],
            Input::Jump if body.place[1] <= ground => body.rise = JUMP,
            Input::Jump => {}
            Input::Place => self.place(player),
            Input::Dig => self.dig(player),
        }
    }

    fn update(&mut self) {
        let mut bodies = std::mem::take(&mut self.players);
        for (&player, body) in &mut bodies {
            body.place[0] = body.place[0].wrapping_add(body.speed[0]);
            body.place[2] = body.place[2].wrapping_add(body.speed[1]);
            let ground = self.ground(&body.place);
            body.place[1] += body.rise;
            body.rise -= GRAVITY;
            if body.place[1] <= ground {
                (body.place[1], body.rise) = (ground, 0);
            }
            self.records.set(player, Some([body.place[0], body.place[1], body.place[2], PLAYER]));
        }
        self.players = bodies;
    }

    fn records(&mut self) -> &mut Records {
        &mut self.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(kind: &str, parameters: &[(&str, f64)]) -> Action {
        let parameters = parameters.iter().map(|(name, value)| ((*name).into(), *value)).collect();
        Action { due_ns: 0, player: "a".into(), kind: kind.into(), parameters }
    }

    fn act(world: &mut Box<dyn World>, kind: &str, parameters: &[(&str, f64)]) {
        world.act(1, &Voxel.input(&action(kind, parameters)).unwrap());
    }

    fn place(world: &mut Box<dyn World>) -> Record {
        *world.records().get(1).unwrap()
    }

    #[test]
    fn a_player_builds_a_pillar_under_itself() {
        let mut world = Voxel.world();
        world.join(1);
        world.update();
        let start = place(&mut world);
        for number in 1..=10 {
            act(&mut world, "jump", &[]);
            let heights: Vec<i32> = (0..20)
                .map(|_| {
                    world.update();
                    place(&mut world)[1]
                })
                .collect();
            assert!(heights.iter().max().unwrap() - (number - 1) * UNIT > UNIT, "a jump is higher than a block: {heights:?}");
            act(&mut world, "place", &[]);
            (0..60).for_each(|_| world.update());
            assert_eq!(place(&mut world), [start[0], number * UNIT, start[2], PLAYER]);
            assert_eq!(world.records().len(), 1 + usize::try_from(number).unwrap());
        }
        act(&mut world, "dig", &[]);
        (0..60).for_each(|_| world.update());
        assert_eq!((place(&mut world)[1], world.records().len()), (9 * UNIT, 10));
        world.leave(1);
        world.update();
        assert_eq!(world.records().len(), 9);
    }

    #[test]
    fn a_player_walks_at_its_speed_until_it_stops() {
        let mut world = Voxel.world();
        world.join(1);
        world.update();
        let start = place(&mut world);
        act(&mut world, "walk", &[("speed_nodes_per_s", 6.0), ("yaw_degrees", 0.0)]);
        (0..60).for_each(|_| world.update());
        let there = place(&mut world);
        assert_eq!((there[0], there[1]), (start[0], 0));
        assert!((there[2] - start[2] - 6 * UNIT).abs() < UNIT / 4, "{there:?}");
        act(&mut world, "walk", &[("speed_nodes_per_s", 0.0), ("yaw_degrees", 0.0)]);
        world.update();
        world.records().take_changes();
        world.update();
        assert!(world.records().take_changes().is_empty(), "who stands still does not change");
    }

    #[test]
    fn what_nobody_understands_is_refused_or_ignored() {
        assert!(Voxel.input(&action("dance", &[])).unwrap_err().contains("no action dance"));
        assert!(Voxel.input(&action("walk", &[])).unwrap_err().contains("lacks speed_nodes_per_s"));
        let mut world = Voxel.world();
        world.join(1);
        for input in [&b""[..], b"\xff\xff\xff", b"\x00"] {
            world.act(1, input);
        }
        world.act(2, &Voxel.input(&action("jump", &[])).unwrap());
        world.update();
        assert_eq!(place(&mut world)[1], 0);
    }
}
