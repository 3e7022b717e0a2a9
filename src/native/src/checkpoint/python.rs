//! The simulator and the game for Python: tables pass as packed little-endian records.

#![allow(clippy::needless_pass_by_value, reason = "Python's values arrive converted, and owned")]

use std::time::Instant;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::algorithm;
use super::game::{self, Game};
use super::simulation::{CheckpointRecord, Copies, Costs, Locks, Phase, Progress, Readings, Simulation, TickRecord, Work};
use super::source::{Places, Recorded, Source, ZipfSource};
use super::tick::{Collector, Tick};

/// How often a simulation lets Python look for signals.
const LOOK_TICKS: u64 = 50;

/// Algorithm, costs, readings, of how many checkpoints one is full.
type NativeRun = (usize, [u64; 9], [bool; 6], u64);

fn refused(what: &'static str) -> PyErr {
    PyValueError::new_err(what)
}

/// Updates, tick after tick; what was taken or simulated is gone.
#[pyclass]
pub struct Updates {
    pub(super) source: Box<dyn Source>,
}

#[pymethods]
impl Updates {
    /// `updates` a tick, row and column of each drawn from Zipf distributions of the same skew. Scrambled, rows of neighbouring
    /// ranks lie far from each other; by column, the cells of a column lie together.
    #[staticmethod]
    fn zipf(rows: u32, columns: u32, skew: f64, updates: u32, is_scrambled: bool, by_column: bool, seed: u64) -> PyResult<Self> {
        let is_large = rows.checked_mul(columns).is_none_or(|cells| cells == 0);
        if is_large || !(0.0..1.0).contains(&skew) {
            return Err(refused("rows and columns of 1 to 2^32 - 1 cells, and a skew of at least 0 and below 1"));
        }
        let places = Places { is_scrambled, by_column };
        Ok(Self { source: Box::new(ZipfSource::new(rows, columns, skew, updates as usize, places, seed)) })
    }

    /// The updates of a game of Knights and Archers.
    #[staticmethod]
    fn knights_and_archers(units: u32, seed: u64) -> PyResult<Self> {
        Ok(Self { source: Box::new(new_game(units, seed)?) })
    }

    /// Recorded ones: how many each tick has, and their cells as packed u32.
    #[staticmethod]
    fn recorded(cells: u32, counts: Vec<u32>, updates: &[u8]) -> PyResult<Self> {
        let unpacked = updates.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("chunks of 4"))).collect();
        let recorded = Recorded::new(cells, counts, unpacked).filter(|_| updates.len().is_multiple_of(4));
        Ok(Self { source: Box::new(recorded.ok_or_else(|| refused("counts, updates and cells do not fit each other"))?) })
    }

    /// Cells of the state.
    #[getter]
    fn cells(&self) -> u32 {
        self.source.cells()
    }

    /// The next `ticks` ticks, or what there is of them: how many updates each has, and their cells as packed u32.
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

    /// Feeds the next `ticks` ticks to each of `runs`; returns the updates, the ns that making them took, the ns that sorting
    /// them by object took, and for each run its ns and its packed ticks and checkpoints.
    ///
    /// A run is an algorithm, its costs in units of time (tick, group, copy of an object, lock, bit, write of an object, passing it,
    /// sync, write of a page), its readings (whether updates are spread over the tick, whether every first touch takes the lock,
    /// whether every first touch copies, whether the write progresses in overheads, whether nothing is on the disk at the beginning,
    /// whether a double backup is swept over), and of how many checkpoints one is full.
    #[allow(clippy::type_complexity, reason = "a tuple is what Python unpacks")]
    fn simulate<'py>(
        &mut self,
        py: Python<'py>,
        runs: Vec<NativeRun>,
        ticks: u64,
        object_cells: u32,
    ) -> PyResult<(u64, u64, u64, Vec<(u64, Bound<'py, PyBytes>, Bound<'py, PyBytes>)>)> {
        let fits = |(which, costs, _, full_every): &NativeRun| *which < algorithm::ALL.len() && costs[0] > 0 && *full_every > 0;
        if object_cells == 0 || !runs.iter().all(fits) {
            return Err(refused("algorithms 0 to 5; a tick, the cells of an object and full_every are positive"));
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

/// A game of Knights and Archers to look into.
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

    /// Plays a tick; returns the updated cells as packed u32, in order.
    fn step<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut cells = Vec::new();
        self.game.step(&mut cells);
        PyBytes::new(py, &cells.iter().flat_map(|cell| cell.to_le_bytes()).collect::<Vec<_>>())
    }

    /// The table of units as packed i32, 13 a row: team, kind, squad, x, y, health, ready at, target, strength, reach, rest,
    /// kills, deaths.
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.game.values().iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
    }

    /// Who is active in the next tick, as packed u32.
    fn active<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.game.active().iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>())
    }
}

fn new_game(units: u32, seed: u64) -> PyResult<Game> {
    let fits = units > 0 && units.is_multiple_of(2 * game::SQUAD) && units < u32::MAX / game::ATTRIBUTES;
    if fits { Ok(Game::new(units, seed)) } else { Err(refused("units come in squads of 64, as many a team")) }
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

/// One source and the algorithms that it feeds.
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
