//! The threads and processes of a trace, and what they have open.

use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::Snapshot;
use super::calls::{CLONE_THREAD, Call, O_CLOEXEC, PR_SET_NAME, Role};
use super::files::{Mapping, OpenFile, Path, Process, Target};
use super::names::target_of;
use super::requests::not_followed;
use super::sizes::{Contents, Names};
use super::syntax::{Arguments, End, number, string};
use crate::formats::output::Output;

/// Longest name of a thread, which the kernel cuts off.
const LONGEST_NAME: usize = 15;

/// Reads, writes and others of which it is not known whether their descriptors are those of files.
pub(super) const UNOPENED: &str = "calls on descriptors that the trace does not open";

/// A call that has ended.
pub struct Made<'a> {
    pub call: &'static Call,
    pub thread: i64,
    pub start_ns: Option<i64>,
    pub latency_ns: Option<i64>,
    pub arguments: Arguments<'a>,
    pub end: End<'a>,
    /// File of the descriptor when the call began, if that was on another line.
    pub target: Option<Target>,
}

pub(super) struct Thread {
    pub(super) process: i64,
    pub(super) name: Path,
    /// Whether the trace tells which process the thread belongs to.
    pub(super) is_known: bool,
}

/// The threads and processes of a trace, and the files that they have open.
#[derive(Default)]
pub struct State {
    pub(super) threads: FxHashMap<i64, Thread>,
    processes: FxHashMap<i64, Process>,
    pub(super) names: Names,
    /// Whether calls tell better than the names after descriptors which files these stand for.
    pub trusts_calls: bool,
    /// Whether a file that has no known name may have changed, so that no size is known any more.
    pub(super) has_lost_names: bool,
    /// Whether only the processes of snapshots, and those that they start, are counted.
    has_snapshots: bool,
    /// Numbers of calls that make no request, by name.
    pub(super) others: FxHashMap<&'static str, u64>,
    /// Number of unnamed files that were opened.
    pub(super) unnamed: u64,
    /// Numbers of other calls that are no requests, by reason.
    left_out: FxHashMap<&'static str, u64>,
}

impl State {
    pub fn begin(&mut self, snapshot: Snapshot) {
        self.has_snapshots = true;
        let mut process = Process::running(&snapshot.folder, &snapshot.root);
        for (descriptor, path, flags, position, size) in snapshot.files {
            let path = Path::from(path);
            if let Some(size) = size {
                self.names.at(&path).set(Some(size));
            }
            let file = OpenFile::new(Some(path), Some(flags), Some(position));
            process.set(descriptor, Target::File(file), flags & O_CLOEXEC != 0);
        }
        for (start, length, offset, path) in snapshot.mappings {
            process.map(Mapping { start, length, offset, path: path.into() });
        }
        self.processes.insert(snapshot.process, process);
        for (thread, name) in snapshot.threads {
            self.threads.insert(thread, Thread { process: snapshot.process, name: name.into(), is_known: true });
        }
    }

    pub fn knows(&self, thread: i64) -> bool {
        self.threads.contains_key(&thread)
    }

    /// Gives a thread its name.
    pub fn know_name(&mut self, thread: i64, name: &[u8]) {
        self.process_of(thread);
        if let Some(known) = self.threads.get_mut(&thread).filter(|known| *known.name != *name) {
            known.name = name.into();
        }
    }

    /// Gives a thread another number, because the trace did not tell its number before.
    pub fn renumber(&mut self, thread: i64, number: i64) {
        if let Some(found) = self.threads.remove(&thread) {
            self.threads.insert(number, Thread { process: number, ..found });
        }
        if let Some(process) = self.processes.remove(&thread) {
            self.processes.insert(number, process);
        }
    }

    /// Takes in that a thread has ended, so that a long trace does not fill the memory with those that are gone.
    pub fn forget(&mut self, thread: i64) {
        if let Some(gone) = self.threads.remove(&thread)
            && !self.threads.values().any(|other| other.process == gone.process)
        {
            self.processes.remove(&gone.process);
        }
    }

    /// Takes in that a thread goes on as the first thread of its process.
    pub fn take_over(&mut self, thread: i64, first: i64) {
        if let Some(found) = self.threads.remove(&thread) {
            self.threads.insert(first, found);
        }
    }

    /// Counts a request whose end is not in the trace. Its effect on the position and the size of its file is not known.
    pub fn unfinished(&mut self, call: Option<&'static Call>, target: Option<&Target>, output: &mut Output) {
        let changes = call.is_some_and(|call| matches!(call.op, "read" | "write" | "seek" | "truncate" | "fallocate"));
        if let (Some(Target::File(open)), true) = (target, changes || call.is_some_and(|call| call.role == Role::Copy)) {
            open.move_to(None);
            self.contents(open).set(None);
        }
        if let (Some(Target::File(open)), Some(true)) = (target, call.map(Call::is_on_position)) {
            open.finish();
        }
        if call.is_some_and(|call| !call.op.is_empty()) {
            output.unfinished += 1;
        } else {
            self.leave_out("other calls that have not ended");
        }
    }

    pub fn lose(&mut self) {
        self.has_lost_names = true;
        self.processes.values().for_each(Process::lose);
    }

    /// Takes in the size of the file that has a name at the end of the trace.
    pub fn know_size(&mut self, path: &Path, bytes: i64, output: &mut Output) {
        if !self.has_lost_names {
            know(&self.names.at(path), bytes, output);
        }
    }

    /// Returns the file that is open. One that was opened before the trace is the one that has its name now.
    pub(super) fn contents(&mut self, open: &OpenFile) -> Arc<Contents> {
        match open.path() {
            Some(path) if !self.has_lost_names => Arc::clone(open.contents.get_or_init(|| self.names.at(path))),
            _ => Arc::default(),
        }
    }

    pub fn end(&mut self, output: &mut Output) {
        for (reason, count) in self.left_out.drain() {
            if reason == UNOPENED { output.lack(reason, count) } else { output.skip_many(reason, count) }
        }
        for (name, count) in self.others.drain() {
            output.skip_many(&format!("call {name}"), count);
        }
    }

    pub(super) fn leave_out(&mut self, reason: &'static str) {
        *self.left_out.entry(reason).or_default() += 1;
    }

    fn process_of(&mut self, thread: i64) -> i64 {
        let is_counted = !self.has_snapshots;
        let found =
            self.threads.entry(thread).or_insert_with(|| Thread { process: thread, name: Path::from(&b""[..]), is_known: false });
        self.processes.entry(found.process).or_insert_with(|| Process::unknown(is_counted));
        found.process
    }

    pub(super) fn process(&mut self, thread: i64) -> &mut Process {
        let (number, is_counted) = (self.process_of(thread), !self.has_snapshots);
        let process = self.processes.entry(number).or_insert_with(|| Process::unknown(is_counted));
        process.trusts_calls = self.trusts_calls;
        process
    }

    /// Takes in that a call begins whose end is on another line. Returns the file of its descriptor.
    pub fn enter(&mut self, thread: i64, call: &Call, arguments: &Arguments) -> Option<Target> {
        let word = arguments.get(call.fd.filter(|_| call.path.is_none())?)?;
        let process = self.process(thread);
        let target = target_of(process, word);
        if call.role == Role::Close {
            process.close(number(word));
        }
        if let (Target::File(open), true) = (&target, call.is_on_position()) {
            open.begin();
        }
        Some(target)
    }

    /// Takes in a call that has ended, and makes a request of it. Returns the number of a new thread.
    pub fn made(&mut self, made: &Made, output: &mut Output) -> Result<Option<i64>, &'static str> {
        let Some(result) = made.end.result else {
            self.unfinished(Some(made.call), None, output);
            return Ok(None);
        };
        self.process_of(made.thread);
        if made.call.op.is_empty() && made.call.role != Role::Copy {
            *self.others.entry(made.call.name).or_default() += 1;
        }
        match made.call.role {
            Role::Fork => return Ok(self.fork(made, result)),
            Role::Execute if result == 0 => self.execute(made),
            Role::Prctl if result == 0 => self.name(made),
            Role::OpenOther if result >= 0 => self.open_other(made, result),
            Role::CloseRange if result == 0 => self.close_range(made),
            Role::Copy => self.copy(made, result.max(0), output),
            Role::NotFollowed | Role::Change | Role::Clone => not_followed(made, result, output),
            Role::Execute | Role::Prctl | Role::OpenOther | Role::CloseRange => {}
            _ => return self.request(made, result, output).map(|()| None),
        }
        Ok(None)
    }

    fn fork(&mut self, made: &Made, result: i64) -> Option<i64> {
        if result <= 0 {
            return None;
        }
        let result = made.end.thread.unwrap_or(result);
        let flags = made.call.flags.and_then(|at| made.arguments.get(at));
        let is_thread = flags.is_some_and(|flags| number(flags) & CLONE_THREAD != 0);
        let parent = self.process_of(made.thread);
        let (name, is_known) = (Arc::clone(&self.threads[&made.thread].name), self.threads[&made.thread].is_known);
        // With option -z and others, lines of the new thread come before this one.
        let early = self.threads.remove(&result).filter(|thread| !thread.is_known && thread.process == result);
        let name = early.as_ref().map(|thread| Arc::clone(&thread.name)).filter(|name| !name.is_empty()).unwrap_or(name);
        let early = early.and_then(|_| self.processes.remove(&result));
        if is_thread {
            self.threads.insert(result, Thread { process: parent, name, is_known });
        } else {
            self.threads.insert(result, Thread { process: result, name, is_known: true });
            let copy = self.process(made.thread).copy();
            self.processes.insert(result, copy);
        }
        if let Some(early) = early {
            self.process(result).take_in(early);
        }
        Some(result)
    }

    fn execute(&mut self, made: &Made) {
        let program = made.call.path.and_then(|at| made.arguments.get(at)).and_then(string).map_or(Vec::new(), |(path, _)| path);
        let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let process = self.process(made.thread);
        process.execute();
        process.is_counted = true;
        if let Some(thread) = self.threads.get_mut(&made.thread) {
            thread.name = name[..name.len().min(LONGEST_NAME)].into();
            thread.is_known = true;
        }
    }

    fn name(&mut self, made: &Made) {
        if made.arguments.get(0).is_some_and(|option| number(option) == PR_SET_NAME)
            && let Some((name, _)) = made.arguments.get(1).and_then(string)
            && let Some(thread) = self.threads.get_mut(&made.thread)
        {
            thread.name = name[..name.len().min(LONGEST_NAME)].into();
        }
    }
}

/// Takes in the present size of a file, and fills in the places of earlier appends.
pub(super) fn know(file: &Contents, bytes: i64, output: &mut Output) {
    for (request, offset) in file.know(bytes) {
        output.table.fill_in_offset(request, offset);
    }
}
