//! The Python bindings of the store: lives, recoveries, checks of a folder, and a state to compare with. Tables are passed to
//! Python as packed little-endian records.

#![allow(clippy::needless_pass_by_value, reason = "pyo3 converts Python's values and passes them by value")]

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::super::algorithm::{self, Layout};
use super::super::python::Updates;
use super::super::source::Source;
use super::arena::{Arena, OBJECT_BYTES, OBJECT_CELLS, updated};
use super::board::Board;
use super::calc::Calc;
use super::forked::Forked;
use super::framework::Framework;
use super::keeper::Keeper;
use super::life::{CheckpointRecord, Report, Setting, TickRecord, live, lock};
use super::micro;
use super::recover::{self, Look, Recovered};
use super::swapped::{Hourglass, Piggyback, PingPong, Zigzag};

fn failed(error: io::Error) -> PyErr {
    match error.kind() {
        io::ErrorKind::InvalidData => PyValueError::new_err(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

fn objects_of(cells: u32) -> usize {
    (cells as usize).div_ceil(OBJECT_CELLS)
}

/// Plays a life in `folder` under an algorithm, and returns its records.
///
/// The life goes on from the state in the folder, or begins with a new state if there is none. An `algorithm` is a number from 0
/// to 11 in the order in which Python names them: the six of the simulator, then the six later ones. `updates` gives the updates
/// of each tick. The life ends after `ticks` ticks, or earlier if `updates` ends.
///
/// A tick begins `tick_ns` ns after the tick before it, or as soon as that has ended if this is 0. If `spins`, the game's thread
/// spins in between instead of sleeping. `at_once` is the number of updates that are handed to the store at once, or 0 for all
/// updates of a tick. `queries` is the number of cells that the game only reads in each tick. `full_every` is the number of
/// checkpoints per full one, for algorithms with a partial log. `has_checkpoints` says whether checkpoints are made at all. In
/// cycles, one of which begins with tick `save_from` (counted from 0), checkpoints begin in `save_ticks` ticks and then in none
/// of `rest_ticks` ticks. If `rest_ticks` is 0, they begin in all ticks. If `has_shadow`, every tick is also played on a state
/// that no algorithm keeps. `board` is a file for the phases and ticks of the life, which other processes may read, or None.
///
/// Returns the last tick of the state with which the life began (0 for a new state), the last tick that was played, and the
/// packed ticks and checkpoints. Each of their records has u64 numbers. A tick has `tick`, `begin_ns`, `update_ns`, `log_ns`,
/// `pause_ns` and `shadow_ns`. A checkpoint has `number`, `tick`, `begin_ns`, `pause_ns`, `copied`, `is_full`, `objects`,
/// `write_ns`, `sync_ns`, `switch_ns` and `end_ns`. `begin_ns` and `end_ns` are times of `CLOCK_MONOTONIC`, the other times are
/// durations. Raises `ValueError` if the algorithm is unknown or the folder has no state that can be trusted, and `OSError` if
/// the folder is in use or a file cannot be read or written.
#[pyfunction]
#[pyo3(signature = (folder, algorithm, updates, *, ticks, tick_ns, spins, at_once, queries, full_every, has_checkpoints, save_from, save_ticks, rest_ticks, has_shadow, board))]
#[allow(clippy::too_many_arguments, reason = "Python names the arguments")]
pub fn store_live<'py>(
    py: Python<'py>,
    folder: PathBuf,
    algorithm: usize,
    updates: &mut Updates,
    ticks: u64,
    tick_ns: u64,
    spins: bool,
    at_once: usize,
    queries: u32,
    full_every: u64,
    has_checkpoints: bool,
    save_from: u64,
    save_ticks: u64,
    rest_ticks: u64,
    has_shadow: bool,
    board: Option<PathBuf>,
) -> PyResult<(u64, u64, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let objects = objects_of(updates.source.cells());
    let layout = layout_of(algorithm).ok_or_else(|| PyValueError::new_err("the algorithm must be 0 to 11"))?;
    let is_partial_log = algorithm::ALL.get(algorithm).is_some_and(|row| row.is_partial_log());
    let full_every = if is_partial_log { full_every.max(1) } else { 1 };
    let setting = Setting {
        folder,
        layout,
        ticks,
        tick_ns,
        spins,
        at_once,
        queries,
        full_every,
        has_checkpoints,
        save_from,
        save_ticks,
        rest_ticks,
        has_shadow,
    };
    let source = &mut updates.source;
    let (from, report) = py
        .detach(|| {
            let board = Arc::new(Board::new(board.as_deref())?);
            let lock = lock(&setting.folder)?;
            let found = recover::recover(&setting.folder, objects)?;
            let from = found.tick;
            Ok((from, play(algorithm, objects, source.as_mut(), &setting, found, &(lock, board))?))
        })
        .map_err(failed)?;
    let Report { ticks, checkpoints, last_tick, .. } = report;
    Ok((from, last_tick, PyBytes::new(py, &pack_ticks(&ticks)), PyBytes::new(py, &pack_checkpoints(&checkpoints))))
}

/// The folder's lock, and the board of the life.
type Shared = (Arc<File>, Arc<Board>);

fn layout_of(which: usize) -> Option<Layout> {
    match which {
        0..6 => Some(algorithm::ALL[which].layout),
        6 | 7 | 9 | 10 => Some(Layout::DoubleBackup),
        8 | 11 => Some(Layout::Log),
        _ => None,
    }
}

fn play(
    which: usize,
    objects: usize,
    source: &mut dyn Source,
    setting: &Setting,
    found: Recovered,
    shared: &Shared,
) -> io::Result<Report> {
    match which {
        6 => play_on(Zigzag::new(objects)?, source, setting, found, shared),
        7 => play_on(PingPong::new(objects)?, source, setting, found, shared),
        8 => play_on(Calc::new(objects)?, source, setting, found, shared),
        9 => play_on(Hourglass::new(objects)?, source, setting, found, shared),
        10 => play_on(Piggyback::new(objects)?, source, setting, found, shared),
        11 => play_on(Forked::new(objects, setting.folder.clone())?, source, setting, found, shared),
        paper => play_on(Framework::new(algorithm::ALL[paper], objects)?, source, setting, found, shared),
    }
}

fn play_on<K: Keeper>(
    mut keeper: K,
    source: &mut dyn Source,
    setting: &Setting,
    mut found: Recovered,
    shared: &Shared,
) -> io::Result<Report>
where
    K::Job: 'static,
{
    let mut data = [0; OBJECT_BYTES];
    let objects = found.state.objects();
    for object in 0..objects {
        found.state.read(object, &mut data);
        keeper.load(object, &data);
    }
    // The recovered state is in the algorithm's memory now, so its own memory is released.
    found.state = Arena::new(0)?;
    live(&mut keeper, source, setting, &found, objects, &shared.0, &shared.1)
}

/// Recovers the state of `cells` cells from `folder`, at the last committed tick.
///
/// Returns the last tick in the state, the number of the checkpoint that the recovery began from and its tick (0 for both if
/// there was none), whether the server stopped instead of crashing, sentences about damaged or incomplete data, the ns to read
/// the checkpoint, the ns to play later ticks again, and a digest of the state. Raises `ValueError` if there is no state that can
/// be trusted, and says why. Raises `OSError` if the folder cannot be read.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "Python unpacks a tuple")]
pub fn store_recover(py: Python<'_>, folder: PathBuf, cells: u32) -> PyResult<(u64, u64, u64, bool, Vec<String>, u64, u64, u64)> {
    let (found, digest) = py
        .detach(|| {
            let found = recover::recover(&folder, objects_of(cells))?;
            let digest = recover::digest(&found.state);
            Ok((found, digest))
        })
        .map_err(failed)?;
    let Recovered { tick, number, image_tick, was_stopped, findings, restore_ns, replay_ns, .. } = found;
    Ok((tick, number, image_tick, was_stopped, findings, restore_ns, replay_ns, digest))
}

/// Looks at the files in `folder`. Returns whether it has files of a store, and the number of cells of the state according to the
/// newest whole head, or None if there is no whole head. The number is a multiple of the cells of an object. Raises `OSError` if
/// the folder cannot be read.
#[pyfunction]
pub fn store_look(folder: PathBuf) -> PyResult<(bool, Option<u64>)> {
    match recover::look(&folder).map_err(failed)? {
        Look::NoStore => Ok((false, None)),
        Look::SizeUnknown => Ok((true, None)),
        Look::Objects(objects) => Ok((true, Some(objects * OBJECT_CELLS as u64))),
    }
}

/// Reads every file of the store in `folder`, whose state has `cells` cells. Returns sentences about damaged or incomplete data.
/// Raises `OSError` if the folder cannot be read.
#[pyfunction]
pub fn store_verify(py: Python<'_>, folder: PathBuf, cells: u32) -> PyResult<Vec<String>> {
    py.detach(|| recover::verify(Path::new(&folder), objects_of(cells))).map_err(failed)
}

/// Measures times of the cost model on a state of `cells` cells, each in `rounds` rounds. The `seed` decides the random places
/// that are copied. Returns pairs of a name and the median time in ns: `copy_all_ns` (one copy of the whole state),
/// `copy_random_ns` (a copy of an object at a random place), `lock_ns` (taking and releasing one lock) and `bit_ns` (counting one
/// dirty bit).
#[pyfunction]
pub fn store_micro(py: Python<'_>, cells: u32, rounds: usize, seed: u64) -> PyResult<Vec<(&'static str, f64)>> {
    let found = py.detach(|| micro::measure(objects_of(cells), rounds, seed)).map_err(failed)?;
    Ok(vec![
        ("copy_all_ns", found.copy_all_ns),
        ("copy_random_ns", found.copy_random_ns),
        ("lock_ns", found.lock_ns),
        ("bit_ns", found.bit_ns),
    ])
}

/// A state that is updated without any algorithm, files or threads. Crash tests compare it with the state that a store recovers
/// after the same updates. It begins as a new state of `cells` cells.
#[pyclass]
pub struct World {
    state: Arena,
    tick: u64,
}

#[pymethods]
impl World {
    #[new]
    fn new(cells: u32) -> PyResult<Self> {
        Ok(Self { state: recover::new_world(objects_of(cells)).map_err(failed)?, tick: 0 })
    }

    /// Plays the next `ticks` ticks of `updates`, or fewer if these end.
    fn play(&mut self, py: Python<'_>, updates: &mut Updates, ticks: u64) {
        let source = &mut updates.source;
        py.detach(|| {
            let mut cells = Vec::new();
            for _ in 0..ticks {
                if !source.next_tick(&mut cells) {
                    break;
                }
                self.tick += 1;
                for cell in &cells {
                    self.state.set(*cell, updated(self.state.cell(*cell), *cell, self.tick));
                }
            }
        });
    }

    /// Number of ticks that were played, which is also the number of the last tick.
    #[getter]
    fn tick(&self) -> u64 {
        self.tick
    }

    /// Returns a digest of the state, 64 bits. Equal states have equal digests.
    fn digest(&self, py: Python<'_>) -> u64 {
        py.detach(|| recover::digest(&self.state))
    }

    /// Returns the value of the cell with the number `cell`.
    fn value(&self, cell: u32) -> u32 {
        self.state.cell(cell)
    }
}

fn pack<const FIELDS: usize>(records: impl Iterator<Item = [u64; FIELDS]>) -> Vec<u8> {
    records.flatten().flat_map(u64::to_le_bytes).collect()
}

fn pack_ticks(ticks: &[TickRecord]) -> Vec<u8> {
    pack(ticks.iter().map(|tick| [tick.tick, tick.begin_ns, tick.update_ns, tick.log_ns, tick.pause_ns, tick.shadow_ns]))
}

fn pack_checkpoints(checkpoints: &[CheckpointRecord]) -> Vec<u8> {
    pack(checkpoints.iter().map(|one| {
        let written = one.written;
        [
            one.number,
            one.tick,
            one.begin_ns,
            one.pause_ns,
            one.copied,
            u64::from(one.is_full),
            written.objects,
            written.write_ns,
            written.sync_ns,
            written.switch_ns,
            one.end_ns,
        ]
    }))
}
