//! The six algorithms: what each does in the four subroutines of the framework, and nothing else.

/// A part of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Nothing,
    Dirty,
    All,
}

/// How checkpoints lie on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Two images, written in turn in the order of offsets: the sweep passes every track, whatever is written.
    DoubleBackup,
    /// Objects are appended.
    Log,
}

/// A row of the paper's table of subroutines.
#[derive(Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Copy-To-Memory: what is copied at the end of the tick, while the game waits. Where it is not `Nothing`,
    /// Write-Copies-To-Stable-Storage writes the copy; where it is, Write-Objects-To-Stable-Storage writes `written`
    /// straight from memory.
    pub copy_to_memory: Part,
    /// Handle-Update: of which objects the first update in a checkpoint saves the old value.
    pub handle_update: Part,
    /// What a checkpoint writes.
    pub written: Part,
    pub layout: Layout,
}

pub const NAIVE_SNAPSHOT: Algorithm =
    Algorithm { copy_to_memory: Part::All, handle_update: Part::Nothing, written: Part::All, layout: Layout::DoubleBackup };
pub const DRIBBLE_AND_COPY_ON_UPDATE: Algorithm =
    Algorithm { copy_to_memory: Part::Nothing, handle_update: Part::All, written: Part::All, layout: Layout::Log };
pub const ATOMIC_COPY_DIRTY_OBJECTS: Algorithm =
    Algorithm { copy_to_memory: Part::Dirty, handle_update: Part::Nothing, written: Part::Dirty, layout: Layout::DoubleBackup };
pub const PARTIAL_REDO: Algorithm = Algorithm { layout: Layout::Log, ..ATOMIC_COPY_DIRTY_OBJECTS };
pub const COPY_ON_UPDATE: Algorithm =
    Algorithm { copy_to_memory: Part::Nothing, handle_update: Part::Dirty, written: Part::Dirty, layout: Layout::DoubleBackup };
pub const COPY_ON_UPDATE_PARTIAL_REDO: Algorithm = Algorithm { layout: Layout::Log, ..COPY_ON_UPDATE };

/// In the order in which Python names them.
pub const ALL: [&Algorithm; 6] = [
    &NAIVE_SNAPSHOT,
    &DRIBBLE_AND_COPY_ON_UPDATE,
    &ATOMIC_COPY_DIRTY_OBJECTS,
    &PARTIAL_REDO,
    &COPY_ON_UPDATE,
    &COPY_ON_UPDATE_PARTIAL_REDO,
];

impl Algorithm {
    /// Whether every update tests a dirty bit, whether a checkpoint runs or not: the methods that copy dirty objects at once "must also pay
    /// for bit checking overhead for each update", as the paper says of them.
    pub fn tests_every_update(&self) -> bool {
        self.copy_to_memory == Part::Dirty
    }

    /// Whether its checkpoints say only what changed since the one before, so that now and then a full one must bound how
    /// far back recovery reads.
    pub fn is_partial_log(&self) -> bool {
        self.written == Part::Dirty && self.layout == Layout::Log
    }
}
