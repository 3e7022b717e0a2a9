//! The store for Python: a life, a recovery, a check of a folder, and the world as it should be.

#![allow(clippy::needless_pass_by_value, reason = "Python's values arrive converted, and owned")]

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

/// Plays `updates` on from the world in `folder`; returns the tick that it was found at, the last one, and the packed ticks and
/// checkpoints. Algorithms are numbered as Python names them: six of the simulator, then those that came later.
#[pyfunction]
#[pyo3(signature = (folder, algorithm, updates, *, ticks, tick_ns, spins, at_once, queries, full_every, has_checkpoints, save_from, save_ticks, rest_ticks, has_shadow, board))]
#[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
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
    let layout = layout_of(algorithm).ok_or_else(|| PyValueError::new_err("algorithms are 0 to 11"))?;
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

/// The folder's lock, and where the threads are.
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
    // What was recovered lives in the algorithm's memory now.
    found.state = Arena::new(0)?;
    live(&mut keeper, source, setting, &found, objects, &shared.0, &shared.1)
}

/// The world in `folder`: last tick, checkpoint's number, its tick, whether the server was stopped, what is not as it should be, ns to
/// restore, ns to replay, digest of the state. `ValueError` says why there is none.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "a tuple is what Python unpacks")]
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

/// Whether `folder` has files of a store, and how many cells its state has by the newest head that is whole.
#[pyfunction]
pub fn store_look(folder: PathBuf) -> PyResult<(bool, Option<u64>)> {
    match recover::look(&folder).map_err(failed)? {
        Look::NoStore => Ok((false, None)),
        Look::SizeUnknown => Ok((true, None)),
        Look::Objects(objects) => Ok((true, Some(objects * OBJECT_CELLS as u64))),
    }
}

/// Reads all that is in `folder`; returns what is damaged.
#[pyfunction]
pub fn store_verify(py: Python<'_>, folder: PathBuf, cells: u32) -> PyResult<Vec<String>> {
    py.detach(|| recover::verify(Path::new(&folder), objects_of(cells))).map_err(failed)
}

/// What the cost model takes, measured on a state of so many cells: in ns, by the names of `micro.rs`.
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

/// A world without any algorithm, files or threads: what a store must come back to.
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

    /// Plays the next ticks of `updates`.
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

    #[getter]
    fn tick(&self) -> u64 {
        self.tick
    }

    fn digest(&self, py: Python<'_>) -> u64 {
        py.detach(|| recover::digest(&self.state))
    }

    /// The value of a cell.
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
