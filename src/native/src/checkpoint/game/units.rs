//! The table of units, with a row for each unit and a column for each attribute. It records every cell that changes.

pub type Unit = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Knight,
    Archer,
    Healer,
}

/// The attributes of a kind of unit that the game never changes.
#[derive(Clone, Copy, Debug)]
pub struct Talent {
    /// Health that a strike takes, or that a healing gives.
    pub strength: i32,
    /// Largest distance at which the unit strikes or heals, in fields.
    pub reach: i32,
    /// Ticks from a strike or a healing until the unit can act again.
    pub rest: i32,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Knight, Self::Archer, Self::Healer];

    pub fn talent(self) -> Talent {
        match self {
            Self::Knight => Talent { strength: 20, reach: 1, rest: 5 },
            Self::Archer => Talent { strength: 10, reach: 8, rest: 5 },
            Self::Healer => Talent { strength: 15, reach: 3, rest: 5 },
        }
    }
}

#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum Attribute {
    Team,
    Kind,
    Squad,
    X,
    Y,
    Health,
    /// The first tick in which the unit can act again.
    ReadyAt,
    /// The unit that this unit last pursued, struck or healed, or -1 if there was none yet.
    Target,
    Strength,
    Reach,
    Rest,
    Kills,
    Deaths,
}

pub const ATTRIBUTES: u32 = 13;
pub const HEALTHY: i32 = 100;
const NOBODY: i32 = -1;

#[derive(Debug)]
pub struct Table {
    count: u32,
    values: Vec<i32>,
    changed: Vec<u32>,
}

impl Table {
    pub fn new(count: u32) -> Self {
        Self { count, values: vec![0; (count * ATTRIBUTES) as usize], changed: Vec::new() }
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn values(&self) -> &[i32] {
        &self.values
    }

    /// Begins a new record of changed cells, which are appended to `cells`.
    pub fn record(&mut self, cells: Vec<u32>) {
        self.changed = cells;
    }

    /// Takes the record of changed cells, and leaves an empty one.
    pub fn recorded(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.changed)
    }

    pub fn get(&self, unit: Unit, attribute: Attribute) -> i32 {
        self.values[(unit * ATTRIBUTES + attribute as u32) as usize]
    }

    /// Writes a cell. A write of the value that the cell already has is no update.
    pub fn set(&mut self, unit: Unit, attribute: Attribute, value: i32) {
        let cell = unit * ATTRIBUTES + attribute as u32;
        let old = &mut self.values[cell as usize];
        if *old != value {
            *old = value;
            self.changed.push(cell);
        }
    }

    pub fn add(&mut self, unit: Unit, attribute: Attribute, more: i32) {
        self.set(unit, attribute, self.get(unit, attribute) + more);
    }

    pub fn kind(&self, unit: Unit) -> Kind {
        Kind::ALL[self.get(unit, Attribute::Kind).cast_unsigned() as usize]
    }

    pub fn team(&self, unit: Unit) -> usize {
        self.get(unit, Attribute::Team).cast_unsigned() as usize
    }

    pub fn place(&self, unit: Unit) -> (i32, i32) {
        (self.get(unit, Attribute::X), self.get(unit, Attribute::Y))
    }

    /// Fills the row of a unit before the game begins.
    pub fn muster(&mut self, unit: Unit, squad: u32, team: u32, kind: Kind, (x, y): (i32, i32)) {
        let Talent { strength, reach, rest } = kind.talent();
        let row = [
            (Attribute::Team, team.cast_signed()),
            (Attribute::Kind, kind as i32),
            (Attribute::Squad, squad.cast_signed()),
            (Attribute::X, x),
            (Attribute::Y, y),
            (Attribute::Health, HEALTHY),
            (Attribute::Target, NOBODY),
            (Attribute::Strength, strength),
            (Attribute::Reach, reach),
            (Attribute::Rest, rest),
        ];
        for (attribute, value) in row {
            self.values[(unit * ATTRIBUTES + attribute as u32) as usize] = value;
        }
    }
}
