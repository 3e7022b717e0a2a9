//! The output of strace, with and without each of its options that change the form of lines: `-C`, `-f`, `-i`, `-k`, `-n`, `-N`, `-r`,
//! `-t`, `-T`, `-x`, `-X`, `-y`, `-Y`, their doubles, and those that have only a long name.

mod calls;
mod clock;
mod errno;
mod files;
mod names;
mod requests;
mod sizes;
mod state;
mod syntax;

use rustc_hash::{FxHashMap, FxHashSet};

use super::number::{find, words};
use super::output::Output;
use super::{EMPTY, Format, Reader};
use calls::{Call, Role};
use clock::Clock;
use files::Target;
use state::{Made, State};
use syntax::{Beginning, Number, Stamp, addition, arguments, beginning, begins_call, end, took, unescaped, without_colours};
pub use syntax::{DUMPS, STACKS};

pub const FORMAT: Format = Format {
    name: "strace",
    about: "output of strace, with any of its options that change the form of lines",
    level: "syscall",
    reader: || Box::new(Strace::default()),
};
const UNFINISHED: &[u8] = b"<unfinished ...>";
const DETACHED: &[u8] = b"<detached ...>";
const NO_SYNTAX: &str = "has a form that strace does not write";
const NO_NUMBER: &str = "lacks a process number, which other lines have";
/// Words of the head of the table of calls.
const HEADINGS: [&[u8]; 13] = [
    b"%",
    b"time",
    b"seconds",
    b"shortest",
    b"longest",
    b"usecs/call",
    b"calls",
    b"errors",
    b"syscall",
    b"wall-total",
    b"wall-min",
    b"wall-max",
    b"wall-avg",
];
/// Number of lines of a new thread that wait for the line that tells which process it belongs to.
const MOST_WAITING: usize = 1 << 16;

/// A process that ran when the trace began.
#[derive(Debug, Default)]
pub struct Snapshot {
    pub process: i64,
    pub folder: Vec<u8>,
    pub root: Vec<u8>,
    /// Numbers and names of its threads.
    pub threads: Vec<(i64, Vec<u8>)>,
    pub files: Vec<Descriptor>,
    pub mappings: Vec<Mapping>,
}

/// Descriptor, path, flags, position and size of an open file.
pub type Descriptor = (i64, Vec<u8>, i64, i64, Option<i64>);
/// First address, length, offset in the file, and path of a file's mapping.
pub type Mapping = (i64, i64, i64, Vec<u8>);

/// A call whose end has not been read.
struct Pending {
    name: Vec<u8>,
    call: Option<&'static Call>,
    start_ns: Option<i64>,
    text: Vec<u8>,
    /// File of the descriptor when the call began.
    target: Option<Target>,
}

/// A line of a thread of which it is not known to which process it belongs.
struct Waiting {
    line: u64,
    ns: Option<i64>,
    name: Vec<u8>,
    body: Vec<u8>,
}

/// The reader of strace's output, which also follows the calls of formats that name the same things.
pub struct Strace {
    calls: FxHashMap<&'static [u8], &'static Call>,
    state: State,
    pending: FxHashMap<i64, Pending>,
    /// Number of pending calls that make new threads or processes.
    forks: usize,
    waiting: FxHashMap<i64, Vec<Waiting>>,
    waiting_lines: usize,
    /// Numbers of calls that make no request, by name.
    others: FxHashMap<Vec<u8>, u64>,
    /// The beginning of a line that a message of strace broke off.
    broken: Vec<u8>,
    clock: Clock,
    has_bare_numbers: bool,
    /// Threads that have not ended, if lines have their numbers in brackets.
    living: FxHashSet<i64>,
    attached: FxHashSet<i64>,
    /// Thread of the line before, if its call had not ended there.
    suspended: Option<i64>,
    is_summary: bool,
}

impl Default for Strace {
    fn default() -> Self {
        Self {
            calls: calls::by_name(),
            state: State::default(),
            pending: FxHashMap::default(),
            forks: 0,
            waiting: FxHashMap::default(),
            waiting_lines: 0,
            others: FxHashMap::default(),
            broken: Vec::new(),
            clock: Clock::default(),
            has_bare_numbers: false,
            living: FxHashSet::default(),
            attached: FxHashSet::default(),
            suspended: None,
            is_summary: false,
        }
    }
}

impl Reader for Strace {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let line = &*without_colours(line);
        if let Some(kind) = addition(line) {
            output.skip(kind);
            return Ok(());
        }
        if !self.broken.is_empty() {
            let whole = [std::mem::take(&mut self.broken), line.trim_ascii_start().to_vec()].concat();
            return self.whole_line(&whole, output);
        }
        self.whole_line(line, output)
    }

    fn end(&mut self, output: &mut Output) {
        self.release_all(output);
        for pending in std::mem::take(&mut self.pending).into_values() {
            self.state.unfinished(pending.call, pending.target.as_ref(), output);
        }
        for (name, count) in self.others.drain() {
            output.skip_many(&format!("call {}", String::from_utf8_lossy(&name)), count);
        }
        let clock = if self.clock.name.is_empty() { "none" } else { self.clock.name };
        output.facts.insert("clock", clock.into());
        self.state.end(output);
    }

    fn begin(&mut self, process: Snapshot) {
        self.state.begin(process);
    }

    fn size(&mut self, path: &[u8], bytes: i64, output: &mut Output) {
        self.state.know_size(&path.into(), bytes, output);
    }
}

impl Strace {
    fn whole_line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let Beginning { number, name, stamp, rest: body } = beginning(line);
        // Another trace may follow the summary of one.
        self.is_summary &= !(begins_call(body) && body[0].is_ascii_alphabetic());
        if self.is_summary || is_heading(line) {
            self.is_summary = true;
            output.skip("lines of the summary");
            return Ok(());
        }
        if let Some(kind) = self.message(body) {
            output.skip(kind);
            return Ok(());
        }
        if let Some(at) = find(line, b"strace: Process ").filter(|_| line.ends_with(b" attached")) {
            self.message(&line[at..]);
            self.broken = line[..at].to_vec();
            output.skip("messages of strace");
            return Ok(());
        }
        let before = self.suspended.take();
        if let (Number::None, Stamp::None, Some(thread), false) = (number, stamp, before, begins_call(body)) {
            // With option -z and others, the rest of a call follows in a line of its own.
            let Some(name) = self.pending.get(&thread).map(|pending| &pending.name) else { return Err(NO_SYNTAX) };
            let body = [b"<... ", name.as_slice(), b" resumed>", body].concat();
            return self.body(thread, None, &body, output);
        }
        let thread = self.thread(number)?;
        let ns = self.clock.advance(stamp, output);
        if self.forks > 0 && !self.state.knows(thread) && self.waiting_lines < MOST_WAITING {
            self.waiting_lines += 1;
            let waiting = Waiting { line: output.line, ns, name: name.into(), body: body.into() };
            self.waiting.entry(thread).or_default().push(waiting);
            return Ok(());
        }
        self.named_body(thread, name, ns, body, output)
    }

    /// Reads a line after its number and time, of a thread whose name is an empty text if the line does not have it.
    fn named_body(
        &mut self,
        thread: i64,
        name: &[u8],
        ns: Option<i64>,
        body: &[u8],
        output: &mut Output,
    ) -> Result<(), &'static str> {
        if !name.is_empty() {
            self.state.know_name(thread, &unescaped(name));
        }
        self.body(thread, ns, body, output)
    }

    /// Takes in a line that strace writes about itself. Returns its kind, or `None` if the line is no such message.
    fn message(&mut self, body: &[u8]) -> Option<&'static str> {
        if body.is_empty() {
            return Some(EMPTY);
        }
        let text = body.strip_prefix(b"strace: ").unwrap_or(body);
        let is_message = text.len() < body.len() || text.starts_with(b"[ Process PID=") || text.starts_with(b"Process ");
        if let (true, Some(rest)) = (is_message, text.strip_prefix(b"Process ")) {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if let (Some(thread), true) = (super::number::unsigned(&rest[..digits]), rest[digits..].starts_with(b" attached")) {
                self.attached.insert(thread);
                self.living.insert(thread);
            }
        }
        is_message.then_some("messages of strace")
    }

    /// Returns the number of a line's thread. A thread without a number is 0.
    fn thread(&mut self, number: Number) -> Result<i64, &'static str> {
        match number {
            Number::Bare(thread) => {
                self.has_bare_numbers = true;
                Ok(thread)
            }
            Number::InBrackets(thread) => {
                if self.living.insert(thread) && !self.attached.contains(&thread) && self.living.remove(&0) {
                    // The thread that was alone at first had no number.
                    self.state.renumber(0, thread);
                    if let Some(pending) = self.pending.remove(&0) {
                        self.pending.insert(thread, pending);
                    }
                }
                Ok(thread)
            }
            Number::None if self.has_bare_numbers => Err(NO_NUMBER),
            Number::None => {
                let mut living = self.living.iter().copied();
                match (living.next(), living.next()) {
                    (Some(only), None) => Ok(only),
                    (None, _) => {
                        self.living.insert(0);
                        Ok(0)
                    }
                    _ if self.state.knows(0) && self.living.contains(&0) => Ok(0),
                    _ => Err(NO_NUMBER),
                }
            }
        }
    }

    /// Makes a reader of a trace whose names of descriptors may be those of files that were open before.
    pub fn trusting_calls() -> Self {
        let mut reader = Self::default();
        reader.state.trusts_calls = true;
        reader
    }

    /// Takes in that calls are missing here, so that positions and sizes are not known.
    pub fn lose(&mut self) {
        self.state.lose();
    }

    /// Gives a thread its name, and takes in that it runs.
    pub fn know_name(&mut self, thread: i64, name: &[u8]) {
        self.state.know_name(thread, name);
    }

    /// Reads a line from its thread's number and time on.
    pub fn body(&mut self, thread: i64, ns: Option<i64>, body: &[u8], output: &mut Output) -> Result<(), &'static str> {
        match body[0] {
            b'+' if body.starts_with(b"+++ ") => {
                self.gone(thread, body, output);
                output.skip("ends of threads");
                Ok(())
            }
            b'-' if body.starts_with(b"--- ") => {
                output.skip("signals");
                Ok(())
            }
            b'<' => self.resumed(thread, ns, body, output),
            _ => self.begun(thread, ns, body, output),
        }
    }

    fn gone(&mut self, thread: i64, body: &[u8], output: &mut Output) {
        if body.starts_with(b"+++ superseded") {
            return;
        }
        self.living.remove(&thread);
        self.clock.forget(thread);
        self.take_pending(thread)
            .into_iter()
            .for_each(|pending| self.state.unfinished(pending.call, pending.target.as_ref(), output));
        self.state.forget(thread);
    }

    fn begun(&mut self, thread: i64, ns: Option<i64>, body: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let open = memchr::memchr(b'(', body).ok_or(NO_SYNTAX)?;
        let (name, text) = (&body[..open], &body[open + 1..]);
        if !name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'?')) || name.is_empty() {
            return Err(NO_SYNTAX);
        }
        let call = self.calls.get(name).copied();
        self.clock.check_order(thread, ns, output);
        // The line that ends the thread's call before this one is missing.
        self.take_pending(thread)
            .into_iter()
            .for_each(|pending| self.state.unfinished(pending.call, pending.target.as_ref(), output));
        if let Some(text) = text.strip_suffix(UNFINISHED) {
            let text = text.trim_ascii_end().into();
            self.suspend(thread, Pending { name: name.into(), call, start_ns: ns, text, target: None });
            return Ok(());
        }
        if text.ends_with(DETACHED) {
            self.state.unfinished(call, None, output);
            return Ok(());
        }
        if let Some(other) = pid_changed(text) {
            // The thread goes on under the number of its process, and the line that ends this call has that number.
            let text = &text[..find(text, b"<pid changed").unwrap_or(text.len())];
            self.state.take_over(thread, other);
            self.take_pending(other)
                .into_iter()
                .for_each(|pending| self.state.unfinished(pending.call, pending.target.as_ref(), output));
            self.suspend(other, Pending { name: name.into(), call, start_ns: ns, text: text.into(), target: None });
            return Ok(());
        }
        self.ended(thread, name, call, (ns, None), text, None, output)
    }

    fn resumed(&mut self, thread: i64, ns: Option<i64>, body: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let rest = body.strip_prefix(b"<... ").ok_or(NO_SYNTAX)?;
        let at = find(rest, b" resumed>").ok_or(NO_SYNTAX)?;
        let (name, text) = (&rest[..at], &rest[at + b" resumed>".len()..]);
        if self.pending.get(&thread).is_none_or(|pending| pending.name != name) {
            if name != b"???" {
                output.skip("ends of calls that began before the trace");
            }
            return Ok(());
        }
        let Some(mut pending) = self.take_pending(thread) else { return Ok(()) };
        if let Some(text) = text.strip_suffix(UNFINISHED) {
            pending.text.extend_from_slice(text.trim_ascii_end());
            self.suspend(thread, pending);
            return Ok(());
        }
        if text.ends_with(DETACHED) {
            self.state.unfinished(pending.call, pending.target.as_ref(), output);
            return Ok(());
        }
        pending.text.extend_from_slice(text);
        let times = (pending.start_ns, ns);
        self.ended(thread, name, pending.call, times, &pending.text, pending.target, output)
    }

    /// Keeps a call until its end is read. A call that closes a descriptor has its effect now.
    fn suspend(&mut self, thread: i64, mut pending: Pending) {
        self.suspended = Some(thread);
        if let Some(call) = pending.call {
            self.forks += usize::from(call.role == Role::Fork);
            if pending.target.is_none() {
                pending.target = self.state.enter(thread, call, &arguments(&pending.text).0);
            }
        }
        self.pending.insert(thread, pending);
    }

    fn take_pending(&mut self, thread: i64) -> Option<Pending> {
        let pending = self.pending.remove(&thread)?;
        self.forks -= usize::from(pending.call.is_some_and(|call| call.role == Role::Fork));
        Some(pending)
    }

    /// Reads a call that has ended. `times` are the times of its first line and of its last one, if that is another line.
    #[allow(clippy::too_many_arguments, reason = "these are the parts of one line")]
    fn ended(
        &mut self,
        thread: i64,
        name: &[u8],
        call: Option<&'static Call>,
        times: (Option<i64>, Option<i64>),
        text: &[u8],
        target: Option<Target>,
        output: &mut Output,
    ) -> Result<(), &'static str> {
        let Some(call) = call else {
            if !text.contains(&b')') {
                return Err(NO_SYNTAX);
            }
            self.clock.end(thread, times, took(text).1, output);
            match self.others.get_mut(name) {
                Some(count) => *count += 1,
                None => _ = self.others.insert(name.into(), 1),
            }
            return Ok(());
        };
        let (found, rest) = arguments(text);
        let is_gone = text.ends_with(b">") && find(text, b"<ptrace(").is_some();
        let rest = if is_gone { &b""[..] } else { rest.ok_or(NO_SYNTAX)? };
        if rest.trim_ascii_start().is_empty() {
            self.state.unfinished(Some(call), target.as_ref(), output);
            return Ok(());
        }
        let end = end(rest).ok_or(NO_SYNTAX)?;
        let latency_ns = self.clock.end(thread, times, end.took_ns, output);
        let made = Made { call, thread, start_ns: times.0, latency_ns, arguments: found, end, target };
        let child = self.state.made(&made, output)?;
        if let Some(child) = child {
            self.release(child, output);
        } else if self.forks == 0 && self.waiting_lines > 0 {
            self.release_all(output);
        }
        Ok(())
    }

    /// Reads the lines of a thread that have waited until its process is known.
    fn release(&mut self, thread: i64, output: &mut Output) {
        let now = output.line;
        for waiting in self.waiting.remove(&thread).unwrap_or_default() {
            self.waiting_lines -= 1;
            output.line = waiting.line;
            if let Err(reason) = self.named_body(thread, &waiting.name, waiting.ns, &waiting.body, output) {
                output.reject(reason, &waiting.body);
            }
        }
        output.line = now;
    }

    fn release_all(&mut self, output: &mut Output) {
        let mut threads: Vec<_> = self.waiting.iter().map(|(thread, lines)| (lines[0].line, *thread)).collect();
        threads.sort_unstable();
        for (_, thread) in threads {
            self.release(thread, output);
        }
    }
}

/// Returns whether a line is the head of the table of calls that options -c and -C print, whose columns option -U chooses.
fn is_heading(line: &[u8]) -> bool {
    words(line).all(|title| HEADINGS.contains(&title)) && words(line).any(|title| title == b"syscall")
}

/// Returns the new number of a thread that has become the first one of its process.
fn pid_changed(text: &[u8]) -> Option<i64> {
    let text = text.strip_suffix(b" ...>")?;
    super::number::unsigned(&text[find(text, b"<pid changed to ")? + b"<pid changed to ".len()..])
}
