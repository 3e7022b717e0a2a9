//! The Python bindings of the simulator and of the game. Tables are passed to Python as packed little-endian records.

#![allow(clippy::needless_pass_by_value, reason = "pyo3 converts Python's values and passes them by value")]

use std::time::Instant;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::algorithm;
use super::game::{self, Game};
use super::simulation::{CheckpointRecord, Copies, Costs, Locks, Phase, Progress, Readings, Simulation, TickRecord, Work};
use super::source::{Places, Recorded, Source, ZipfSource};
use super::tick::{Collector, Tick};

/// Number of ticks after which a simulation lets Python look for signals, such as an interrupt.
const LOOK_TICKS: u64 = 50;

/// An algorithm, its costs, its readings, and the number of checkpoints per full one.
type NativeRun = (usize, [u64; 9], [bool; 6], u64);

fn refused(what: &'static str) -> PyErr {
    PyValueError::new_err(what)
}

/// A source of updates, tick after tick. Ticks that were taken or simulated are consumed.
#[pyclass]
pub struct Updates {
    pub(super) source: Box<dyn Source>,
}

#[pymethods]
impl Updates {
    /// Returns a source of `updates` updates in each tick, for a state of `rows` times `columns` cells.
    ///
    /// Row and column of each update are drawn from Zipf distributions with the same `skew`. If `is_scrambled`, rows of
    /// neighbouring ranks lie far from each other. If `by_column`, the cells of a column lie together, and otherwise those of a
    /// row do. The same `seed` gives the same updates. Raises `ValueError` if the number of cells is not from 1 to 2^32 - 1, or
    /// if `skew` is not at least 0 and below 1.
    #[staticmethod]
    fn zipf(rows: u32, columns: u32, skew: f64, updates: u32, is_scrambled: bool, by_column: bool, seed: u64) -> PyResult<Self> {
        let is_large = rows.checked_mul(columns).is_none_or(|cells| cells == 0);
        if is_large || !(0.0..1.0).contains(&skew) {
            return Err(refused("rows x columns must be 1 to 2^32 - 1 cells, and the skew must be at least 0 and below 1"));
        }
        let places = Places { is_scrambled, by_column };
        Ok(Self { source: Box::new(ZipfSource::new(rows, columns, skew, updates as usize, places, seed)) })
    }

    /// Returns the updates of a game of Knights and Archers as a source. The number of `units` must be a positive multiple of
    /// 128. The same `seed` gives the same game. Raises `ValueError` if `units` is no such number or too large.
    #[staticmethod]
    fn knights_and_archers(units: u32, seed: u64) -> PyResult<Self> {
        Ok(Self { source: Box::new(new_game(units, seed)?) })
    }

    /// Returns a source of recorded updates, for a state of `cells` cells. `counts` has the number of updates of each tick, and
    /// `updates` has the updated cells of all ticks as packed u32. Raises `ValueError` if these do not match each other, or if a
    /// cell lies outside of the state.
    #[staticmethod]
    fn recorded(cells: u32, counts: Vec<u32>, updates: &[u8]) -> PyResult<Self> {
        let unpacked = updates.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("chunks of 4"))).collect();
        let recorded = Recorded::new(cells, counts, unpacked).filter(|_| updates.len().is_multiple_of(4));
        Ok(Self { source: Box::new(recorded.ok_or_else(|| refused("counts, updates and cells do not match each other"))?) })
    }

    /// Number of cells of the state.
    #[getter]
    fn cells(&self) -> u32 {
        self.source.cells()
    }

    /// Takes the next `ticks` ticks, or fewer if the source ends. Returns the number of updates of each tick, and the updated
    /// cells of all these ticks as packed u32.
    fn take<'py>(&mut self, py: Python<'py>, ticks: u64) -> (Vec<usize>, Bound<'py, PyBytes>) {
        let source = &mut self.source;
        let (counts, packed) = py.detach(|| {
            let (mut counts, mut packed, mut cells) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..ticks {
                if !source.next_tick(&mut cells) {
                    break;
                }
                counts.push(cells.len());
                packed.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
            }
            (counts, packed)
        });
        (counts, PyBytes::new(py, &packed))
    }

    /// Feeds the next `ticks` ticks, or fewer if the source ends, to each of `runs`, with `object_cells` cells in an object.
    ///
    /// A run is a tuple of an algorithm's number (0 to 5), nine costs, six readings, and the number of checkpoints per full one.
    /// The costs are whole units of time for a tick, the start of copying a contiguous group of objects, the copy of an object, a
    /// lock, a bit test, the write of an object, the writer's passing of an object, a sync, and the write of a page. The readings
    /// say whether updates are spread over the tick, whether every first update takes the lock, whether every first update saves
    /// the old value, whether the write progresses during overhead, whether the disk is empty at the beginning, and whether a
    /// write to a double backup takes as long as the whole image.
    ///
    /// Returns the number of updates, the ns that making them took, the ns that sorting them by object took, and a list with a
    /// tuple for each run. The tuple has the ns that the run took, its packed ticks and its packed checkpoints. A record of
    /// either has u64 numbers. A tick has `start`, `overhead` and `length`, in units of time, and nine counts (`begun`, `copied`,
    /// `groups`, `tested`, `touched`, `locked`, `saved`, `beside`, `changed_beside`). A checkpoint has `tick`, `begin`, `pause`,
    /// `written`, `objects`, `copied` and `is_full`. Raises `ValueError` if an algorithm is unknown, or if the cost of a tick,
    /// `object_cells` or the number of checkpoints per full one is 0.
    #[allow(clippy::type_complexity, reason = "Python unpacks a tuple")]
    fn simulate<'py>(
        &mut self,
        py: Python<'py>,
        runs: Vec<NativeRun>,
        ticks: u64,
        object_cells: u32,
    ) -> PyResult<(u64, u64, u64, Vec<(u64, Bound<'py, PyBytes>, Bound<'py, PyBytes>)>)> {
        let fits = |(which, costs, _, full_every): &NativeRun| *which < algorithm::ALL.len() && costs[0] > 0 && *full_every > 0;
        if object_cells == 0 || !runs.iter().all(fits) {
            return Err(refused("the algorithm must be 0 to 5, and tick, object_cells and full_every must be positive"));
        }
        let objects = self.source.cells().div_ceil(object_cells) as usize;
        let started = |(which, costs, readings, full_every): NativeRun| {
            let (costs, readings) = (costs_of(costs), readings_of(readings, full_every));
            (0, Simulation::new(algorithm::ALL[which], objects, costs, readings))
        };
        let mut study = Study {
            collector: Collector::new(objects, object_cells),
            runs: runs.into_iter().map(started).collect(),
            ..Study::default()
        };
        let mut left = ticks;
        while left > 0 {
            let some = left.min(LOOK_TICKS);
            py.detach(|| study.feed(self.source.as_mut(), some));
            py.check_signals()?;
            left -= some;
        }
        let Study { updates, made_ns, sorted_ns, runs, .. } = study;
        let packed = runs.into_iter().map(|(ns, mut run)| {
            run.finish();
            (ns, PyBytes::new(py, &pack_ticks(&run.ticks)), PyBytes::new(py, &pack_checkpoints(&run.checkpoints)))
        });
        Ok((updates, made_ns, sorted_ns, packed.collect()))
    }
}

/// A game of Knights and Archers that can be inspected. It has `units` units, a positive multiple of 128, and the same `seed`
/// gives the same game. Raises `ValueError` if `units` is no such number or too large.
#[pyclass]
pub struct KnightsAndArchers {
    game: Game,
}

#[pymethods]
impl KnightsAndArchers {
    #[new]
    fn new(units: u32, seed: u64) -> PyResult<Self> {
        Ok(Self { game: new_game(units, seed)? })
    }

    /// Plays a tick. Returns the updated cells as packed u32, in the order of the updates.
    fn step<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut cells = Vec::new();
        self.game.step(&mut cells);
        PyBytes::new(py, &cells.iter().flat_map(|cell| cell.to_le_bytes()).collect::<Vec<_>>())
    }

    /// Returns the table of units as packed i32, with 13 numbers for each unit: team, kind, squad, x, y, health, ready at,
    /// target, strength, reach, rest, kills, deaths.
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.game.values().iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
    }

    /// Returns the numbers of the units that are active in the next tick, as packed u32.
    fn active<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.game.active().iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>())
    }
}

fn new_game(units: u32, seed: u64) -> PyResult<Game> {
    let fits = units > 0 && units.is_multiple_of(2 * game::SQUAD) && units < u32::MAX / game::ATTRIBUTES;
    if fits { Ok(Game::new(units, seed)) } else { Err(refused("the units must be a multiple of 128, from 128 to 2^32 / 13")) }
}

fn costs_of([tick, group, copy_object, lock, bit, write_object, pass_object, sync, write_page]: [u64; 9]) -> Costs {
    Costs { tick, group, copy_object, lock, bit, write_object, pass_object, sync, write_page }
}

fn readings_of(
    [is_spread, locks_touched, copies_touched, writes_always, starts_dirty, sweeps]: [bool; 6],
    full_every: u64,
) -> Readings {
    Readings {
        phase: if is_spread { Phase::Spread } else { Phase::Start },
        locks: if locks_touched { Locks::Touched } else { Locks::Written },
        copies: if copies_touched { Copies::Touched } else { Copies::Unwritten },
        progress: if writes_always { Progress::Always } else { Progress::Ticks },
        full_every,
        starts_dirty,
        sweeps,
    }
}

/// The runs that one source feeds, and the time that was spent on each part of the work.
#[derive(Default)]
struct Study {
    collector: Collector,
    cells: Vec<u32>,
    tick: Tick,
    updates: u64,
    made_ns: u64,
    sorted_ns: u64,
    runs: Vec<(u64, Simulation)>,
}

impl Study {
    /// Simulates the next `ticks` ticks, or fewer if the source ends.
    fn feed(&mut self, source: &mut dyn Source, ticks: u64) {
        for _ in 0..ticks {
            let started = Instant::now();
            if !source.next_tick(&mut self.cells) {
                return;
            }
            self.made_ns += elapsed_ns(started);
            self.updates += self.cells.len() as u64;
            let started = Instant::now();
            self.collector.collect(&self.cells, &mut self.tick);
            self.sorted_ns += elapsed_ns(started);
            for (ns, run) in &mut self.runs {
                let started = Instant::now();
                run.tick(&self.tick);
                *ns += elapsed_ns(started);
            }
        }
    }
}

fn elapsed_ns(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).expect("a run takes less than five centuries")
}

fn pack<const FIELDS: usize>(records: impl Iterator<Item = [u64; FIELDS]>) -> Vec<u8> {
    records.flatten().flat_map(u64::to_le_bytes).collect()
}

fn pack_ticks(ticks: &[TickRecord]) -> Vec<u8> {
    pack(ticks.iter().map(|tick| {
        let Work { begun, copied, groups, tested, touched, locked, saved, beside, changed_beside } = tick.work;
        [tick.start, tick.overhead, tick.length, begun, copied, groups, tested, touched, locked, saved, beside, changed_beside]
    }))
}

fn pack_checkpoints(checkpoints: &[CheckpointRecord]) -> Vec<u8> {
    let record =
        |one: &CheckpointRecord| [one.tick, one.begin, one.pause, one.written, one.objects, one.copied, u64::from(one.is_full)];
    pack(checkpoints.iter().map(record))
}
