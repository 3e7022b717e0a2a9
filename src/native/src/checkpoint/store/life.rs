//! A life of the game in a store. It plays ticks at their rate and makes one checkpoint after another, until it stops or is
//! killed.

use std::fs::{self, File, OpenOptions};
use std::hint::{self, black_box};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use super::super::algorithm::Layout;
use super::super::source::Source;
use super::actions::{self, ActionLog, Commits};
use super::arena::Arena;
use super::board::{Board, Phase, Role, Stopwatch};
use super::files::{Files, Written};
use super::folder::{head_path, log_path, sync_folder};
use super::keeper::{Begin, Job, Keeper};
use super::recover::{Recovered, log_numbers, new_world, read_head};
use crate::clock::now_ns;

/// Longest wait for the folder's lock, in ns. The process of the last life may take this long to end.
const LOCK_NS: u64 = 5_000_000_000;

/// The parameters of a life.
#[derive(Clone, Debug)]
pub struct Setting {
    pub folder: PathBuf,
    pub layout: Layout,
    pub ticks: u64,
    /// Time from the beginning of a tick to that of the next, in ns. If 0, each tick begins as soon as the tick before it has
    /// ended.
    pub tick_ns: u64,
    /// Whether the game's thread spins until the next tick instead of sleeping.
    pub spins: bool,
    /// Number of updates that are handed to the store at once. In the paper's framework it is 1. If it is 0, all updates of a
    /// tick are handed over at once.
    pub at_once: usize,
    /// Number of cells that the game only reads in each tick.
    pub queries: u32,
    /// Number of checkpoints per full one, for the algorithms with a partial log. If 1, all checkpoints are full.
    pub full_every: u64,
    /// Whether checkpoints are made at all.
    pub has_checkpoints: bool,
    /// A tick, counted from 0 on, with which a cycle of saving and rest begins. Checkpoints begin in the first `save_ticks` ticks
    /// of a cycle, and in none of the `rest_ticks` ticks that follow. If `rest_ticks` is 0, checkpoints begin in all ticks.
    pub save_from: u64,
    pub save_ticks: u64,
    pub rest_ticks: u64,
    /// Whether every tick is also played on a shadow, which is a state that no algorithm keeps. The shadow shows how long the
    /// updates themselves take at that moment.
    pub has_shadow: bool,
}

/// The record of a tick of a life, with durations in ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct TickRecord {
    pub tick: u64,
    /// Time at which the tick began, in ns of `CLOCK_MONOTONIC`.
    pub begin_ns: u64,
    /// Time of the updates, with the work that the algorithm adds to them.
    pub update_ns: u64,
    /// Time to hand the updates over to the log of actions.
    pub log_ns: u64,
    /// Time to begin a checkpoint.
    pub pause_ns: u64,
    /// Time of the same updates on the shadow.
    pub shadow_ns: u64,
}

/// The record of a finished checkpoint of a life. `begin_ns` and `end_ns` are times of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckpointRecord {
    pub number: u64,
    /// The tick at whose end the checkpoint begins.
    pub tick: u64,
    pub begin_ns: u64,
    /// Time for which the game waited while the checkpoint began.
    pub pause_ns: u64,
    /// Number of objects copied in memory.
    pub copied: u64,
    pub is_full: bool,
    pub written: Written,
    pub end_ns: u64,
}

/// The records of a life that has ended.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub ticks: Vec<TickRecord>,
    pub checkpoints: Vec<CheckpointRecord>,
    pub last_tick: u64,
}

type Order<J> = (Begin, J);
type Done<J> = (io::Result<Written>, u64, J);

/// Plays a life. It goes on from the state `found`, which was recovered while `lock` was held, and which `keeper` has already.
/// Returns the records of its ticks and checkpoints.
pub fn live<K: Keeper>(
    keeper: &mut K,
    source: &mut dyn Source,
    setting: &Setting,
    found: &Recovered,
    objects: usize,
    lock: &Arc<File>,
    board: &Arc<Board>,
) -> io::Result<Report>
where
    K::Job: 'static,
{
    tidy(&setting.folder, found.number, found.tick)?;
    let mut files = Files::new(&setting.folder, setting.layout, objects, found);
    let log = ActionLog::start(&setting.folder, found.tick + 1, Arc::clone(board));
    let (orders, taken): (SyncSender<Order<K::Job>>, _) = sync_channel(1);
    let (say, done) = sync_channel(1);
    let (folder, own, commits) = (setting.folder.clone(), Arc::clone(board), log.commits());
    let lock = Arc::clone(lock);
    let writer = thread::spawn(move || {
        write(&mut files, &folder, &taken, &say, &own, &commits);
        drop(lock); // The lock is held until here, so that no other process plays while this thread still writes.
    });
    let shadow = if setting.has_shadow { Some(new_world(objects)?) } else { None };
    if let Some(shadow) = &shadow {
        shadow.keep_from_children()?; // Otherwise, fork(2) would make the shadow as slow as the state.
    }
    let number = found.number;
    let mut game = Game { keeper, setting, log: &log, orders, done, board, shadow, running: None, spare: None, number, made: 0 };
    let report = game.play(source, found.tick);
    drop(game);
    let _ = writer.join();
    let report = report?;
    log.close()?;
    Ok(report)
}

/// Locks a folder, so that no other process can play in it or recover a state to play on. Waits for the lock for up to 5 s.
///
/// The lock lasts until the file is closed, which is at the latest when this process and a child that writes for it have ended.
pub fn lock(folder: &Path) -> io::Result<Arc<File>> {
    if let Some(parent) = folder.canonicalize()?.parent() {
        sync_folder(parent)?;
    }
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(folder.join("lock"))?;
    let deadline_ns = now_ns() + LOCK_NS;
    // SAFETY: The call asks for a lock on an open file.
    while unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(error);
        }
        if now_ns() > deadline_ns {
            return Err(io::Error::other("another process plays in this folder; end it first"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(Arc::new(file))
}

/// Removes files that an earlier life left unfinished, and checkpoints after the one that was restored, because a life cannot
/// play on from them.
fn tidy(folder: &Path, restored: u64, last: u64) -> io::Result<()> {
    for number in log_numbers(folder)?.into_iter().filter(|number| *number > restored) {
        fs::remove_file(log_path(folder, number))?;
    }
    for number in [0, 1] {
        if matches!(read_head(&head_path(folder, number)), Ok(Some(head)) if head.number > restored) {
            fs::remove_file(head_path(folder, number))?;
        }
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tmp") {
            fs::remove_file(path)?;
        }
    }
    actions::trim(folder, last)
}

/// Runs the writer, which writes one checkpoint after another until no more come.
fn write<J: Job>(
    files: &mut Files,
    folder: &Path,
    taken: &Receiver<Order<J>>,
    say: &SyncSender<Done<J>>,
    board: &Board,
    commits: &Commits,
) {
    while let Ok((begin, mut job)) = taken.recv() {
        let result = files.write(begin, &mut job, board, commits).and_then(|written| {
            actions::forget(folder, written.kept_tick)?;
            Ok(written)
        });
        board.enter(Role::Writer, Phase::Idle);
        if say.send((result, now_ns(), job)).is_err() {
            return;
        }
    }
}

/// The game's thread in a life.
struct Game<'a, K: Keeper> {
    keeper: &'a mut K,
    setting: &'a Setting,
    log: &'a ActionLog,
    orders: SyncSender<Order<K::Job>>,
    done: Receiver<Done<K::Job>>,
    board: &'a Board,
    shadow: Option<Arena>,
    running: Option<CheckpointRecord>,
    spare: Option<K::Job>,
    /// Number of the last checkpoint that began.
    number: u64,
    /// Number of checkpoints that this life began.
    made: u64,
}

impl<K: Keeper> Game<'_, K> {
    fn play(&mut self, source: &mut dyn Source, from: u64) -> io::Result<Report> {
        let mut report = Report { last_tick: from, ..Report::default() };
        let (mut cells, mut query) = (Vec::new(), 0_u32);
        let begun_ns = now_ns();
        for index in 0..self.setting.ticks {
            if !source.next_tick(&mut cells) {
                break;
            }
            self.board.enter(Role::Game, Phase::Idle);
            let due_ns = begun_ns + index * self.setting.tick_ns;
            self.wait(due_ns);
            let tick = from + index + 1;
            self.board.tick(tick);
            self.board.enter(Role::Game, Phase::Update);
            let mut record = TickRecord { tick, begin_ns: now_ns(), ..TickRecord::default() };
            for _ in 0..self.setting.queries {
                query = query.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                black_box(self.keeper.value(query % source.cells()));
            }
            // The shadow is played before the state in every second tick and after it in the others, so that neither always finds
            // the cells in the cache.
            if index % 2 == 1 {
                record.shadow_ns = self.play_shadow(&cells, tick);
            }
            let at_once = if self.setting.at_once == 0 { cells.len().max(1) } else { self.setting.at_once };
            let mut clock = Stopwatch::start();
            for part in cells.chunks(at_once) {
                self.keeper.update(part, tick);
            }
            record.update_ns = clock.lap();
            if index % 2 == 0 {
                record.shadow_ns = self.play_shadow(&cells, tick);
                clock.lap();
            }
            self.log.push(tick, &cells)?;
            record.log_ns = clock.lap();
            report.checkpoints.extend(self.look()?);
            if self.running.is_none() && self.is_saving(index) {
                clock.lap();
                self.board.enter(Role::Game, Phase::Copy);
                self.begin(tick)?;
                record.pause_ns = clock.lap();
                if let Some(running) = &mut self.running {
                    running.pause_ns = record.pause_ns;
                }
            }
            report.ticks.push(record);
            report.last_tick = tick;
        }
        self.board.enter(Role::Game, Phase::Idle);
        while self.running.is_some() {
            report.checkpoints.extend(self.look()?);
            thread::sleep(Duration::from_micros(100));
        }
        Ok(report)
    }

    /// Returns whether a checkpoint may begin in a tick, which is counted from 0.
    fn is_saving(&self, index: u64) -> bool {
        let (from, save, rest) = (self.setting.save_from, self.setting.save_ticks, self.setting.rest_ticks);
        let cycle = save + rest;
        self.setting.has_checkpoints && (rest == 0 || (index + cycle - from % cycle) % cycle < save)
    }

    /// Plays a tick on the shadow, if there is one. Returns the time in ns.
    fn play_shadow(&self, cells: &[u32], tick: u64) -> u64 {
        let Some(shadow) = &self.shadow else { return 0 };
        let mut clock = Stopwatch::start();
        shadow.update(cells, tick);
        clock.lap()
    }

    fn wait(&self, due_ns: u64) {
        if self.setting.spins {
            while now_ns() < due_ns {
                hint::spin_loop();
            }
        } else {
            thread::sleep(Duration::from_nanos(due_ns.saturating_sub(now_ns())));
        }
    }

    /// Ends the running checkpoint if it is written. Returns its record in that case.
    fn look(&mut self) -> io::Result<Option<CheckpointRecord>> {
        if self.running.is_none() {
            return Ok(None);
        }
        let (result, end_ns, job) = match self.done.try_recv() {
            Ok(done) => done,
            Err(TryRecvError::Empty) => return Ok(None),
            Err(TryRecvError::Disconnected) => return Err(io::Error::other("the writer has ended")),
        };
        let written = result?;
        self.spare = Some(job);
        let copied = self.keeper.copied();
        Ok(self.running.take().map(|running| CheckpointRecord { copied, written, end_ns, ..running }))
    }

    /// Begins a checkpoint at the end of a tick, and gives its job to the writer.
    fn begin(&mut self, tick: u64) -> io::Result<()> {
        self.number += 1;
        // The first checkpoint of a life is full, because too little is known about the files on the disk to add only changes to
        // them.
        let is_full = self.made.is_multiple_of(self.setting.full_every);
        self.made += 1;
        let begin = Begin { number: self.number, tick, is_full };
        let begin_ns = now_ns();
        let job = self.keeper.begin(begin, self.spare.take())?;
        self.log.begin_file(tick + 1);
        self.orders.send((begin, job)).map_err(|_| io::Error::other("the writer has ended"))?;
        self.running = Some(CheckpointRecord { number: self.number, tick, begin_ns, is_full, ..CheckpointRecord::default() });
        Ok(())
    }
}
