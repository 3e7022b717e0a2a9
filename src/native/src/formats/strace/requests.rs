//! Makes requests of calls, and follows which files they are for.

use std::sync::Arc;

use super::calls::{
    AT_REMOVEDIR, CLOSE_RANGE_CLOEXEC, F_DUPFD, F_DUPFD_CLOEXEC, F_SETFD, F_SETFL, MAP_ANONYMOUS, MAP_SHARED, O_ACCMODE,
    O_CLOEXEC, O_CREAT, O_EXCL, O_TMPFILE, O_TRUNC, PROT_WRITE, RENAME_EXCHANGE, RWF_APPEND, RWF_NOAPPEND, Role, SEEK_END,
};
use super::files::{Mapping, OpenFile, Path, Target, normal};
use super::names::{file_name, path_of, target_of};
use super::state::{Made, State, UNOPENED, know};
use super::syntax::{annotation, buffers_length, integer, number, pair, string};
use crate::formats::number::find;
use crate::formats::output::Output;
use crate::formats::table::Row;

const NOT_FILES: &str = "calls on descriptors that are not files";
const ARGUMENTS: &str = "has other arguments than the call has";
const PAGE_BYTES: i64 = 4096;
const ATTRIBUTES: &str =
    "calls that change the owner, mode, times or attributes of files, or make special files, and are in no request";
const CLONES: &str = "calls of ioctl that make a file share the data of another, and are in no request";
/// The commands of ioctl that make a file share data, `FICLONE` and `FICLONERANGE`.
const CLONING: [i64; 2] = [0x4004_9409, 0x4020_940d];
/// Position of the argument of a mapping that tells what it is for.
const PROTECTION: usize = 2;

impl State {
    pub(super) fn request(&mut self, made: &Made, result: i64, output: &mut Output) -> Result<(), &'static str> {
        let call = made.call;
        let word = |at: Option<usize>| at.and_then(|at| made.arguments.get(at));
        for at in [call.fd, call.length, call.offset, call.path, call.renamed, call.buffers].into_iter().flatten() {
            made.arguments.get(at).ok_or(ARGUMENTS)?;
        }
        if is_of_no_file(made) {
            return Ok(());
        }
        let process = self.process(made.thread);
        let (mut target, mut file) = (Target::Unknown, None);
        if let Some(text) = word(call.path) {
            file = path_of(process, word(call.fd), text);
            if string(text).is_some_and(|(_, is_cut)| is_cut) {
                output.skip("names of files that strace has cut off");
            }
        } else if let Some(descriptor) = word(call.fd) {
            target = made.target.clone().unwrap_or_else(|| target_of(process, descriptor));
            if let Target::File(open) = &target {
                file = open.path().cloned();
            }
        }
        let flags = word(call.flags).map(number);
        let renamed = self.second_path(made, file.as_deref());
        if call.role == Role::Open && result >= 0 && flags.is_some_and(|flags| flags & O_TMPFILE == O_TMPFILE) {
            file = self.unnamed(made, file.as_deref());
        }
        let length = match word(call.buffers) {
            Some(buffers) => buffers_length(buffers),
            None => word(call.length).map(number),
        };
        let storing = match (&target, call.op) {
            (Target::File(open), "read" | "write") => open.storing(call.op == "write", word(call.flags).map_or(0, number)),
            _ => None,
        };
        let removes_folder = call.role == Role::Unlink && flags.is_some_and(|flags| flags & AT_REMOVEDIR != 0);
        let mut row = Row {
            op: if removes_folder { b"rmdir" } else { call.op.as_bytes() },
            call: Some(call.name.as_bytes()),
            start_ns: made.start_ns,
            latency_ns: made.latency_ns,
            offset: word(call.offset).map(number),
            length: length.filter(|length| *length >= 0 && call.role != Role::Fcntl),
            flags: match call.op {
                "open" => Some(flags.unwrap_or(O_TRUNC)),
                "rename" | "link" | "fallocate" => flags,
                _ => None,
            },
            result: Some(result.max(0)),
            errno: Some((-result).max(0)),
            storing: storing.as_deref(),
            ..Row::default()
        };
        let is_mixed = is_mixed(made, &target);
        let mut waits = None;
        let mut is_request = true;
        match call.role {
            Role::Open if result >= 0 => self.open(made, result, file.as_ref(), row.flags.unwrap_or(0), output),
            // If the call began on another line, the descriptor was closed there, and may be another file's by now.
            Role::Close if made.target.is_none() => self.process(made.thread).close(word(call.fd).map_or(-1, number)),
            Role::Duplicate | Role::Fcntl => is_request = self.duplicate(made, result, &target),
            Role::Seek | Role::LongSeek => row.offset = self.seek(made, result, &target, is_mixed, output),
            Role::Map | Role::MapPages => row.offset = self.map(made, result, file.as_ref(), output),
            Role::SyncMap => {
                let found = self.process(made.thread).mapped(row.offset.unwrap_or(0));
                row.offset = found.as_ref().map(|(_, offset)| *offset);
                file = found.map(|(path, _)| path);
            }
            Role::Truncate | Role::Allocate | Role::Unlink | Role::Link | Role::Rename if result == 0 => {
                let place = (flags.unwrap_or(0), row.offset.unwrap_or(0), row.length);
                self.change(call.role, &target, file.as_ref(), renamed.as_ref(), place);
            }
            Role::ChangeFolder => {
                is_request = false;
                if let (0, Some(path)) = (result, &file) {
                    self.process(made.thread).folder = Arc::clone(path);
                }
            }
            Role::Request => {
                if let Target::File(open) = &target {
                    let place = self.place(made, result, open, row.offset);
                    let is_known = !is_mixed || row.offset.is_some_and(|offset| offset >= 0);
                    (row.offset, waits) = if is_known { (place.ok(), place.err()) } else { (None, None) };
                } else if flags.is_some_and(|flags| flags & RWF_APPEND != 0) || row.offset == Some(-1) {
                    row.offset = None;
                }
            }
            _ => {}
        }
        if !is_request || !self.is_counted(made, &target, result) {
            return Ok(());
        }
        let thread = &self.threads[&made.thread];
        row.thread = Some(made.thread).filter(|thread| *thread != 0);
        row.process = Some(thread.process).filter(|_| thread.is_known);
        row.thread_name = Some(&*thread.name).filter(|name| !name.is_empty());
        (row.file, row.renamed) = (file.as_deref(), renamed.as_deref());
        let request = output.table.push(&row);
        if let (Some(Some(before)), Target::File(open)) = (waits, &target) {
            self.contents(open).wait(request, before);
        }
        Ok(())
    }

    /// Returns the second path of a call: the new name of a rename or a link, or the path to which a symbolic link leads.
    fn second_path(&mut self, made: &Made, first: Option<&[u8]>) -> Option<Path> {
        let at = made.call.renamed?;
        let word = made.arguments.get(at)?;
        if made.call.role == Role::Symlink {
            return linked(first?, word);
        }
        let folder = at.checked_sub(1).and_then(|at| made.arguments.get(at)).filter(|_| made.call.fd.is_some());
        path_of(self.process(made.thread), folder, word)
    }

    /// Returns the path that stands for a file without a name, which is in a folder.
    fn unnamed(&mut self, made: &Made, folder: Option<&[u8]>) -> Option<Path> {
        self.unnamed += 1;
        let name = format!("#unnamed-{}", self.unnamed);
        made.end.name.and_then(file_name).or_else(|| Some(normal(folder?, name.as_bytes()).into()))
    }

    /// Takes in a call that changed the size or the names of a file, with its flags, its offset and its length.
    fn change(
        &mut self,
        role: Role,
        target: &Target,
        file: Option<&Path>,
        renamed: Option<&Path>,
        place: (i64, i64, Option<i64>),
    ) {
        let (flags, offset, length) = place;
        match (role, target, file, renamed) {
            (Role::Truncate, Target::File(open), ..) => self.contents(open).set(length),
            (Role::Allocate, Target::File(open), ..) => self.contents(open).allocate(flags, offset, length.unwrap_or(0)),
            (Role::Truncate, _, Some(path), _) => self.names.at(path).set(length),
            (Role::Unlink, _, Some(path), _) => self.names.remove(path),
            (Role::Link, _, Some(path), Some(renamed)) => self.names.link(path, renamed),
            (Role::Rename, _, Some(path), Some(renamed)) if flags & RENAME_EXCHANGE == 0 => self.names.rename(path, renamed),
            (Role::Rename, _, Some(path), Some(renamed)) => self.names.exchange(path, renamed),
            _ => self.has_lost_names = true,
        }
    }

    /// Returns whether a call is a request, and counts it if it is not, because its descriptor is not a file's, or its process is
    /// only one that starts others.
    fn is_counted(&mut self, made: &Made, target: &Target, result: i64) -> bool {
        let by_descriptor = made.call.fd.is_some() && made.call.path.is_none();
        let is_counted = self.process(made.thread).is_counted;
        let name = made.call.fd.filter(|_| by_descriptor).and_then(|at| annotation(made.arguments.get(at)?));
        let reason = match target {
            _ if !is_counted => "calls of processes that only start others",
            Target::File(open) if open.path().is_some() => return true,
            Target::NotAFile if name.is_some() => NOT_FILES,
            _ if !by_descriptor || made.call.is_only_of_files && result >= 0 => return true,
            Target::NotAFile => NOT_FILES,
            Target::File(_) | Target::Unknown => UNOPENED,
        };
        self.leave_out(reason);
        false
    }

    /// Returns the offset of a read, a write or a sync, and moves the position of the open file. The error is the number of bytes
    /// that were appended before, if it is an append to a file whose size is not known yet, and else `None`.
    fn place(&mut self, made: &Made, result: i64, open: &OpenFile, offset: Option<i64>) -> Result<i64, Option<i64>> {
        let flags = made.call.flags.and_then(|at| made.arguments.get(at)).map_or(0, number);
        // An offset of -1 stands for the position of the open file in the calls that have flags.
        let moves = made.call.moves || made.call.flags.is_some() && offset == Some(-1);
        let is_write = made.call.op == "write";
        let appends = is_write && (flags & RWF_APPEND != 0 || open.appends() == Some(true) && flags & RWF_NOAPPEND == 0);
        if is_write && open.appends().is_none() {
            self.contents(open).set(None);
            open.move_to(open.position().filter(|_| !moves));
            return Err(None);
        }
        if result < 0 {
            return offset.filter(|_| !moves && !appends).ok_or(None);
        }
        if appends && result > 0 {
            let found = self.contents(open).append(result);
            if moves {
                open.move_to(found.ok().map(|offset| offset + result));
            }
            return found.map_err(Some);
        }
        let position = if moves { open.position() } else { offset };
        let end = position.and_then(|position| position.checked_add(result));
        if moves {
            open.move_to(end);
        }
        if is_write && result > 0 {
            self.contents(open).extend(end);
        }
        position.ok_or(None)
    }

    fn open(&mut self, made: &Made, result: i64, file: Option<&Path>, flags: i64, output: &mut Output) {
        let named = made.end.name.map(file_name);
        let target = match (named, file) {
            (Some(None), _) => Target::NotAFile,
            (Some(Some(path)), _) => Target::File(OpenFile::new(Some(path), Some(flags), Some(0))),
            (None, Some(path)) => Target::File(OpenFile::new(Some(Arc::clone(path)), Some(flags), Some(0))),
            (None, None) => {
                output.lack("opened files whose names are not in the trace", 1);
                self.has_lost_names |= flags & (O_ACCMODE | O_TRUNC) != 0;
                Target::File(OpenFile::new(None, Some(flags), Some(0)))
            }
        };
        if let Target::File(open) = &target
            && let Some(path) = open.path()
        {
            let is_new = flags & O_TMPFILE == O_TMPFILE || flags & (O_CREAT | O_EXCL) == O_CREAT | O_EXCL;
            let contents = if is_new { self.names.create(path) } else { self.names.at(path) };
            if flags & O_TRUNC != 0 {
                contents.set(Some(0));
            }
            // A file is opened here, so that nothing is set yet.
            _ = open.contents.set(contents);
        }
        self.process(made.thread).set(result, target, flags & O_CLOEXEC != 0);
    }

    /// Takes in a call that copied bytes: a read of the one descriptor in the first half of its time, and a write of the other in
    /// the second, where they are those of files.
    pub(super) fn copy(&mut self, made: &Made, bytes: i64, output: &mut Output) {
        let is_counted = self.process(made.thread).is_counted;
        let mut halves = Vec::with_capacity(2);
        for (at, offset_at, is_written) in made.call.copies() {
            let Some(word) = made.arguments.get(at) else { continue };
            match target_of(self.process(made.thread), word) {
                Target::File(open) => {
                    let placed = made.arguments.get(offset_at).filter(|word| *word != b"NULL" && *word != b"0");
                    let begin = match placed {
                        Some(word) => first_number(word),
                        None if is_written && open.appends() != Some(false) => None,
                        None => open.position(),
                    };
                    let end = begin.map(|begin| begin + bytes);
                    if placed.is_none() {
                        open.move_to(end);
                    }
                    if is_written && bytes > 0 {
                        self.contents(&open).extend(end);
                    }
                    halves.push((is_written, begin, open));
                }
                Target::Unknown if is_counted => {
                    output.lack(&format!("bytes that {} moved, which are in no request", made.call.name), bytes.unsigned_abs());
                }
                _ => {}
            }
        }
        if halves.is_empty() || bytes == 0 || !is_counted {
            *self.others.entry(made.call.name).or_default() += 1;
            return;
        }
        // sendfile names the target first.
        halves.sort_by_key(|(is_written, ..)| *is_written);
        let count = i64::try_from(halves.len()).unwrap_or(1);
        let thread = &self.threads[&made.thread];
        let mut start_ns = made.start_ns;
        for (is_written, offset, open) in &halves {
            // The second half has the nanosecond that cannot be halved.
            let latency_ns = made.latency_ns.map(|ns| if count == 2 && *is_written { ns - ns / 2 } else { ns / count });
            let storing = open.storing(*is_written, 0);
            output.table.push(&Row {
                op: if *is_written { b"write" } else { b"read" },
                call: Some(made.call.name.as_bytes()),
                start_ns,
                latency_ns,
                thread: Some(made.thread).filter(|thread| *thread != 0),
                process: Some(thread.process).filter(|_| thread.is_known),
                thread_name: Some(&*thread.name).filter(|name| !name.is_empty()),
                file: open.path().map(|path| &**path),
                offset: *offset,
                length: Some(bytes),
                result: Some(bytes),
                errno: Some(0),
                storing: storing.as_deref(),
                ..Row::default()
            });
            start_ns = start_ns.map(|ns| ns + latency_ns.unwrap_or(0));
        }
    }

    pub(super) fn open_other(&mut self, made: &Made, result: i64) {
        let pair = made.call.buffers.and_then(|at| made.arguments.get(at)).and_then(pair);
        let process = self.process(made.thread);
        for descriptor in pair.map_or([result, result], |(first, second)| [first, second]) {
            process.set(descriptor, Target::NotAFile, false);
        }
    }

    pub(super) fn close_range(&mut self, made: &Made) {
        let at = |position: Option<usize>| position.and_then(|at| made.arguments.get(at)).map_or(0, number);
        let (first, last, flags) = (at(made.call.fd), at(made.call.length) & 0xffff_ffff, at(made.call.flags));
        let process = self.process(made.thread);
        if flags & CLOSE_RANGE_CLOEXEC == 0 {
            process.close_range(first, last);
        } else {
            process.close_range_at_exec(first, last);
        }
    }

    /// Takes in a call that copies a descriptor or changes one. Returns whether it copies one.
    fn duplicate(&mut self, made: &Made, result: i64, target: &Target) -> bool {
        let at = |position: Option<usize>| position.and_then(|at| made.arguments.get(at)).map_or(0, number);
        let (descriptor, command, flags) = (at(made.call.fd), at(made.call.length), at(made.call.flags));
        let is_fcntl = made.call.role == Role::Fcntl;
        let copies = !is_fcntl || command == F_DUPFD || command == F_DUPFD_CLOEXEC;
        if result < 0 {
            return copies;
        }
        let process = self.process(made.thread);
        if !copies {
            match (command, target) {
                (F_SETFD, _) => process.set_closes(descriptor, flags & 1 != 0),
                (F_SETFL, Target::File(open)) => open.set_flags(flags),
                _ => {}
            }
        } else if result != descriptor {
            let closes = if is_fcntl { command == F_DUPFD_CLOEXEC } else { flags & O_CLOEXEC != 0 };
            process.set(result, target.clone(), closes);
        }
        copies
    }

    /// Takes in a seek, and returns the position to which it led. If others were made in its time, what follows is not known.
    fn seek(&mut self, made: &Made, result: i64, target: &Target, is_mixed: bool, output: &mut Output) -> Option<i64> {
        if result < 0 {
            return None;
        }
        let at = |position: Option<usize>| position.and_then(|at| made.arguments.get(at)).map_or(0, number);
        let position = match made.call.role {
            Role::LongSeek => number(without_brackets(made.arguments.get(2)?)),
            _ => result,
        };
        if let Target::File(open) = target {
            open.move_to(Some(position).filter(|_| !is_mixed));
            if at(made.call.flags) == SEEK_END {
                know(&self.contents(open), position - at(made.call.offset), output);
            }
        }
        Some(position)
    }

    /// Takes in a mapping of a file, and returns its offset in the file.
    fn map(&mut self, made: &Made, result: i64, file: Option<&Path>, output: &mut Output) -> Option<i64> {
        let at = |position: Option<usize>| position.and_then(|at| made.arguments.get(at)).map_or(0, number);
        let printed = at(made.call.offset);
        // Old versions of strace print the number of a page, and new ones a number of bytes, which is a multiple of a page.
        let counts_pages = made.call.role == Role::MapPages && printed % PAGE_BYTES != 0;
        let offset = if counts_pages { printed.checked_mul(PAGE_BYTES)? } else { printed };
        if let (true, Some(path)) = (result > 0, file) {
            let mapping = Mapping { start: result, length: at(made.call.length), offset, path: Arc::clone(path) };
            self.process(made.thread).map(mapping);
            if at(made.call.flags) & MAP_SHARED != 0 && made.arguments.get(PROTECTION).map_or(0, number) & PROT_WRITE != 0 {
                output.lack("mappings of files through which a program may write unseen", 1);
            }
        }
        Some(offset)
    }
}

/// Returns whether other calls on the position of the same open file were made in the time of a call, so that it has no known place.
fn is_mixed(made: &Made, target: &Target) -> bool {
    match target {
        Target::File(open) if made.call.is_on_position() && made.target.is_some() => open.finish(),
        Target::File(open) if made.call.is_on_position() => open.pass(),
        _ => false,
    }
}

/// Returns whether a call maps memory without a file.
fn is_of_no_file(made: &Made) -> bool {
    let word = |at: Option<usize>| at.and_then(|at| made.arguments.get(at));
    matches!(made.call.role, Role::Map | Role::MapPages)
        && (word(made.call.fd).is_some_and(|fd| number(fd) < 0)
            || word(made.call.flags).is_some_and(|flags| number(flags) & MAP_ANONYMOUS != 0))
}

/// Takes in a call that changes a file, or may do so, without a request that tells where.
pub(super) fn not_followed(made: &Made, result: i64, output: &mut Output) {
    let submits = |to: &str| format!("submissions to {to}, whose requests are not in the trace");
    match (made.call.role, made.call.name) {
        (Role::Change, _) => output.lack(ATTRIBUTES, u64::from(result == 0)),
        (Role::Clone, _) => output.lack(CLONES, u64::from(result == 0 && clones(made))),
        (_, "io_uring_enter") => output.lack(&submits("io_uring"), result.max(0).unsigned_abs()),
        _ => output.lack(&submits("Linux's asynchronous I/O"), result.max(0).unsigned_abs()),
    }
}

/// Returns whether the command of an ioctl makes a file share the data of another.
fn clones(made: &Made) -> bool {
    let is_one = |word: &[u8]| find(word, b"FICLONE").is_some() || CLONING.contains(&number(word));
    made.arguments.get(1).is_some_and(is_one)
}

/// Returns the path to which a symbolic link leads.
fn linked(link: &[u8], text: &[u8]) -> Option<Path> {
    let (text, _) = string(text)?;
    let folder = memchr::memrchr(b'/', link).map_or(&b""[..], |at| &link[..at.max(1)]);
    (!text.is_empty()).then(|| normal(if text[0] == b'/' { b"/" } else { folder }, &text).into())
}

/// Returns the number that stands first in brackets, such as the offset in `[0] => [4096]`.
fn first_number(word: &[u8]) -> Option<i64> {
    let inside = word.strip_prefix(b"[")?;
    integer(&inside[..memchr::memchr(b']', inside)?])
}

fn without_brackets(word: &[u8]) -> &[u8] {
    word.strip_prefix(b"[").and_then(|inside| inside.strip_suffix(b"]")).unwrap_or(word)
}
