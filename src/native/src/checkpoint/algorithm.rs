//! The six algorithms of the paper (Vaz Salles et al., VLDB 2009), which save a game's state to disk. A row of the paper's table
//! says what each does in the four subroutines of the paper's framework.

/// A part of the state: no object, the objects that changed since they were last written, or all objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Nothing,
    Dirty,
    All,
}

/// The layout of checkpoints on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Two images that are overwritten in turn, in the order of offsets. The disk passes every track, no matter which objects are
    /// written.
    DoubleBackup,
    /// A log to which objects are appended.
    Log,
}

/// A row of the paper's table of subroutines.
#[derive(Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Copy-To-Memory: the objects that are copied at the end of the tick, while the game waits.
    ///
    /// If this is not `Nothing`, Write-Copies-To-Stable-Storage writes the copies. Otherwise, Write-Objects-To-Stable-Storage
    /// writes the objects of `written` straight from memory.
    pub copy_to_memory: Part,
    /// Handle-Update: the objects whose old value is saved at their first update in a checkpoint.
    pub handle_update: Part,
    /// The objects that a checkpoint writes.
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

/// The six algorithms, in the order in which Python numbers them.
pub const ALL: [&Algorithm; 6] = [
    &NAIVE_SNAPSHOT,
    &DRIBBLE_AND_COPY_ON_UPDATE,
    &ATOMIC_COPY_DIRTY_OBJECTS,
    &PARTIAL_REDO,
    &COPY_ON_UPDATE,
    &COPY_ON_UPDATE_PARTIAL_REDO,
];

impl Algorithm {
    /// Returns whether every update tests a dirty bit, even if no checkpoint runs. The paper says that the methods which copy
    /// dirty objects at once "must also pay for bit checking overhead for each update".
    pub fn tests_every_update(&self) -> bool {
        self.copy_to_memory == Part::Dirty
    }

    /// Returns whether a checkpoint has only the objects that changed since the checkpoint before. A full checkpoint must then be
    /// written now and then, to limit how far back a recovery reads.
    pub fn is_partial_log(&self) -> bool {
        self.written == Part::Dirty && self.layout == Layout::Log
    }
}
