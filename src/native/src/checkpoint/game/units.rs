//! The table of units: a row a unit, a column an attribute, and a record of every cell that changes.

pub type Unit = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Knight,
    Archer,
    Healer,
}

/// What a kind can do: the attributes that a game does not change.
#[derive(Clone, Copy, Debug)]
pub struct Talent {
    /// Health taken by a strike, or given by a healing.
    pub strength: i32,
    /// Fields from which it strikes or heals.
    pub reach: i32,
    /// Ticks of rest after it.
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
    /// The tick from which on it acts again.
    ReadyAt,
    /// Whom it pursues, strikes or heals; -1: nobody yet.
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

    /// Takes the place of what was recorded; changes are appended to it.
    pub fn record(&mut self, cells: Vec<u32>) {
        self.changed = cells;
    }

    pub fn recorded(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.changed)
    }

    pub fn get(&self, unit: Unit, attribute: Attribute) -> i32 {
        self.values[(unit * ATTRIBUTES + attribute as u32) as usize]
    }

    /// Writes a cell; a value that it has already is no update.
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
