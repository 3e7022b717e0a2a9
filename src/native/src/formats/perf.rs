//! The output of `perf trace`, which prints a line when a call ends, with the time at which it began.
//!
//! Each call is written as strace would write it, and the reader of strace's output then follows files, descriptors and positions.

use std::borrow::Cow;

use super::number::{decimal, find, rfind, split_at_byte, unsigned, words};
use super::output::Output;
use super::strace::{STACKS, Strace};
use super::{EMPTY, Format, Reader};

pub const FORMAT: Format = Format {
    name: "perf-trace",
    about: "output of perf trace",
    level: "syscall",
    reader: || Box::new(Perf { strace: Strace::trusting_calls(), is_summary: false }),
};
const NO_SYNTAX: &str = "has a form that perf trace does not write";
/// Number of characters of the longest time that a call can take, which is some years in ms.
const LONGEST_TIME: usize = 18;
const NAMED_LATE: &str = "the file of a descriptor is the one that perf found when it printed the line, which may be a later one";
/// Beginning of the lines of a stack, which option `--call-graph` prints below a call.
const INDENTED: &[u8] = &[b' '; 20];
/// Time by which an event may come before the first one that perf prints.
const EARLIEST_NS: i64 = 3_600_000_000_000;
const BUFFER: &[u8] = b", buf: ";
const CONTINUED: &[u8] = b" ... [continued]: ";

struct Perf {
    strace: Strace,
    is_summary: bool,
}

/// The parts of a line before its call.
struct Head<'a> {
    /// Beginning of the call, or `None` if it began before the trace.
    start_ns: Option<i64>,
    took_ns: Option<i64>,
    /// Whether the time that it took is below 0, which perf prints as a very large one.
    is_wrapped: bool,
    thread_name: &'a [u8],
    thread: i64,
    /// The call with its arguments and its result.
    call: &'a [u8],
    is_continued: bool,
}

impl Reader for Perf {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let text = line.trim_ascii();
        if text.is_empty() {
            output.skip(EMPTY);
            return Ok(());
        }
        if self.is_summary || text.starts_with(b"Summary of events") {
            self.is_summary = true;
            output.skip("lines of the summary");
            return Ok(());
        }
        if text.starts_with(b"LOST ") && text.ends_with(b"events!") {
            let count = words(text).nth(1).and_then(unsigned).unwrap_or(1);
            output.lack("lost events", count.unsigned_abs());
            self.strace.lose();
            return Ok(());
        }
        let Some(head) = head(text) else {
            let is_stack = line.starts_with(INDENTED);
            output.skip_many(STACKS, is_stack.into());
            return is_stack.then_some(()).ok_or(NO_SYNTAX);
        };
        if head.is_wrapped {
            output.contradict("a call ended before it began");
        }
        // The reader of strace's output speaks of strace.
        self.call(&head, output).map_err(|_| NO_SYNTAX)
    }

    fn end(&mut self, output: &mut Output) {
        self.strace.end(output);
        output.facts.insert("choice", NAMED_LATE.into());
        output.facts.insert("clock", "time since the first event, or since the start of the machine".into());
    }
}

impl Perf {
    fn call(&mut self, head: &Head, output: &mut Output) -> Result<(), &'static str> {
        let open = memchr::memchr(b'(', head.call).ok_or(NO_SYNTAX)?;
        let name = &head.call[..open];
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        if name.is_empty() || !name.iter().all(is_word) {
            output.skip("events that are no system calls");
            return Ok(());
        }
        // A thread whose name perf does not know has a colon and its number in place of a name.
        if !head.thread_name.starts_with(b":") {
            self.strace.know_name(head.thread, head.thread_name);
        }
        let rest = &head.call[open + 1..];
        let took = head.took_ns.map_or_else(String::new, |ns| format!(" <{}.{:09}>", ns / 1_000_000_000, ns % 1_000_000_000));
        if let Some(inside) = rest.strip_suffix(b"...").map(<[u8]>::trim_ascii_end).and_then(|text| text.strip_suffix(b")")) {
            let body = [name, b"(", &translated(name, inside), b" <unfinished ...>"].concat();
            return self.strace.body(head.thread, head.start_ns, &body, output);
        }
        if name == b"openat2" {
            // perf prints the address of its flags, without which a file cannot be followed.
            output.skip("openat2, whose flags perf does not print");
            return Ok(());
        }
        if head.is_continued && rest.strip_suffix(b"=").is_some_and(|rest| rest.trim_ascii_end() == b"))") {
            output.skip("beginnings of processes");
            return Ok(());
        }
        let (inside, mut result) = result(rest).ok_or(NO_SYNTAX)?;
        if name == b"fcntl" && result.first().is_some_and(u8::is_ascii_alphabetic) {
            // The names of a descriptor's flags, which nothing needs.
            result = b"0";
        }
        let end_ns = head.start_ns.zip(head.took_ns).and_then(|(start_ns, took_ns)| start_ns.checked_add(took_ns));
        if head.is_continued {
            let body = [b"<... ", name, b" resumed>) = ", result, took.as_bytes()].concat();
            return self.strace.body(head.thread, end_ns, &body, output);
        }
        let body = [name, b"(", &translated(name, inside), b") = ", result, took.as_bytes()].concat();
        self.strace.body(head.thread, head.start_ns, &body, output)
    }
}

/// Splits a line such as `1.234 ( 0.005 ms): luanti/42 fsync(fd: 3</world/map.sqlite>) = 0`.
fn head(text: &[u8]) -> Option<Head<'_>> {
    let (time, rest) = text.split_at(memchr::memchr(b' ', text)?);
    let rest = rest.trim_ascii_start().strip_prefix(b"(")?;
    let (took, rest) = rest.split_at(find(rest, b"):")?);
    let rest = rest[2..].strip_prefix(b" ").unwrap_or(&rest[2..]);
    let start_ns = if time == b"?" { None } else { Some(time_ns(time)?) };
    let took = took.trim_ascii();
    let is_wrapped = took.len() > LONGEST_TIME && took.iter().all(|byte| byte.is_ascii_digit() || b". ms".contains(byte));
    let took_ns =
        if took.is_empty() || is_wrapped { None } else { Some(decimal(took.strip_suffix(b"ms")?.trim_ascii_end(), 6)?) };
    let (thread_name, thread, call) = thread(rest);
    let (call, is_continued) = match call.strip_prefix(CONTINUED.trim_ascii_start()) {
        Some(call) => (call, true),
        None => (call, false),
    };
    Some(Head { start_ns, took_ns, is_wrapped, thread_name, thread, call, is_continued })
}

/// Parses a time in ms. perf prints a time before that of its first event as a very large one, because it is below 0.
fn time_ns(text: &[u8]) -> Option<i64> {
    decimal(text, 6).or_else(|| {
        let (whole, fraction) = split_at_byte(text, b'.')?;
        let ms: i128 = std::str::from_utf8(whole).ok()?.parse::<u64>().ok()?.into();
        let fraction_ns = decimal(&[b"0.", fraction].concat(), 6)?;
        i64::try_from(ms * 1_000_000 + i128::from(fraction_ns) - (1 << 64)).ok().filter(|ns| (-EARLIEST_NS..0).contains(ns))
    })
}

/// Splits the name and the number of the thread from the call. A trace of a single thread has neither, and its number is 0.
fn thread(text: &[u8]) -> (&[u8], i64, &[u8]) {
    let begins_call = |rest: &[u8]| {
        let rest = rest.trim_ascii_start();
        let word = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':')).count();
        rest.starts_with(CONTINUED.trim_ascii_start()) || word > 0 && rest.get(word) == Some(&b'(')
    };
    let numbered = |at: usize| {
        let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = unsigned(&text[at..at + digits])?;
        let rest = text[at + digits..].strip_prefix(b" ")?;
        begins_call(rest).then(|| (number, rest.trim_ascii_start()))
    };
    if let Some((number, call)) = numbered(0) {
        return (b"", number, call);
    }
    memchr::memchr_iter(b'/', text)
        .find_map(|at| numbered(at + 1).map(|(number, call)| (text[..at].trim_ascii(), number, call)))
        .unwrap_or((b"", 0, text.trim_ascii_start()))
}

/// Splits the arguments of a call, which follow its opening bracket, from its result.
fn result(text: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(inside) = text.strip_suffix(b"=") {
        // In a new process perf does not print the result of clone, which is 0.
        return Some((inside.trim_ascii_end().strip_suffix(b")")?, b"0"));
    }
    memchr::memrchr_iter(b'=', text).filter(|at| text[at + 1..].starts_with(b" ")).find_map(|at| {
        let inside = text[..at].trim_ascii_end().strip_suffix(b")")?;
        Some((inside, text[at + 2..].trim_ascii()))
    })
}

/// Returns the names of a call's arguments in their order, as the kernel's tracepoints have them, for the calls that the reader of
/// strace's output follows. perf leaves out arguments that are 0.
fn names(call: &[u8]) -> &'static [&'static [u8]] {
    match call {
        b"read" | b"write" => &[b"fd", b"buf", b"count"],
        b"pread64" | b"pwrite64" => &[b"fd", b"buf", b"count", b"pos"],
        b"readv" | b"writev" => &[b"fd", b"vec", b"vlen"],
        b"preadv" | b"pwritev" | b"preadv2" | b"pwritev2" => &[b"fd", b"vec", b"vlen", b"pos_l", b"flags"],
        b"open" => &[b"filename", b"flags", b"mode"],
        b"openat" => &[b"dfd", b"filename", b"flags", b"mode"],
        b"creat" | b"mkdir" => &[b"pathname", b"mode"],
        b"close" | b"fsync" | b"fdatasync" | b"syncfs" | b"fchdir" => &[b"fd"],
        b"close_range" => &[b"fd", b"max_fd", b"flags"],
        b"dup" => &[b"fildes"],
        b"dup2" | b"dup3" => &[b"oldfd", b"newfd", b"flags"],
        b"fcntl" | b"ioctl" => &[b"fd", b"cmd", b"arg"],
        b"lseek" => &[b"fd", b"offset", b"whence"],
        b"sync_file_range" => &[b"fd", b"offset", b"nbytes", b"flags"],
        b"truncate" => &[b"path", b"length"],
        b"ftruncate" => &[b"fd", b"length"],
        b"rename" | b"link" | b"symlink" => &[b"oldname", b"newname"],
        b"renameat" | b"renameat2" | b"linkat" => &[b"olddfd", b"oldname", b"newdfd", b"newname", b"flags"],
        b"unlink" | b"rmdir" => &[b"pathname"],
        b"mkdirat" => &[b"dfd", b"pathname", b"mode"],
        b"symlinkat" => &[b"oldname", b"newdfd", b"newname"],
        b"fallocate" => &[b"fd", b"mode", b"offset", b"len"],
        b"unlinkat" => &[b"dfd", b"pathname", b"flag"],
        b"mmap" => &[b"addr", b"len", b"prot", b"flags", b"fd", b"off"],
        b"msync" => &[b"start", b"len", b"flags"],
        b"chdir" => &[b"filename"],
        b"sendfile" | b"sendfile64" => &[b"out_fd", b"in_fd", b"offset", b"count"],
        b"splice" | b"copy_file_range" => &[b"fd_in", b"off_in", b"fd_out", b"off_out", b"len", b"flags"],
        _ => &[],
    }
}

/// Writes the arguments of a call as strace does.
fn translated(call: &[u8], inside: &[u8]) -> Vec<u8> {
    // Newer versions print the content of a buffer, which may have anything in it, and not its address.
    let content = find(inside, BUFFER).filter(|at| !is_address(&inside[at + BUFFER.len()..]));
    let end = content.and_then(|_| rfind(inside, b", count: "));
    let plain = match (content, end) {
        (Some(from), Some(to)) => Cow::Owned([&inside[..from], &inside[to.max(from)..]].concat()),
        _ => Cow::Borrowed(inside),
    };
    let given: Vec<(&[u8], &[u8])> = parts(&plain).into_iter().filter_map(named).collect();
    let is_thread = match call {
        // perf does not print the flags of this call. The C library starts threads with it, and sometimes also processes.
        b"clone3" => true,
        b"clone" => given.iter().any(|(_, value)| value.split(|byte| *byte == b'|').any(|flag| flag == b"THREAD")),
        _ => false,
    };
    if is_thread {
        return if call == b"clone" { b"0, CLONE_THREAD".to_vec() } else { b"CLONE_THREAD".to_vec() };
    }
    let value = |name: &[u8]| given.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    let mut found = Vec::new();
    for name in names(call) {
        if !found.is_empty() {
            found.extend_from_slice(b", ");
        }
        match value(name) {
            Some(value) => found.extend(argument(call, name, value)),
            None => found.push(b'0'),
        }
    }
    found
}

fn is_address(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| *byte == b',').unwrap_or(text.len());
    text[..end].strip_prefix(b"0x").is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Splits a text at commas that are not within quotation marks or brackets.
fn parts(text: &[u8]) -> Vec<&[u8]> {
    let (mut found, mut begin, mut depth, mut is_quoted) = (Vec::new(), 0, 0_usize, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'{' | b'[' | b'(' | b'<' => depth += 1,
            b'}' | b']' | b')' | b'>' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(text[begin..at].trim_ascii());
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[begin..].trim_ascii());
    found
}

fn named(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = find(part, b": ")?;
    Some((&part[..at], part[at + 2..].trim_ascii()))
}

/// Writes an argument as strace does. Names of flags get the beginning that perf leaves out.
fn argument(call: &[u8], name: &[u8], value: &[u8]) -> Vec<u8> {
    let beginning: &[u8] = match (call, name) {
        (_, b"dfd" | b"olddfd" | b"newdfd") if value.starts_with(b"CWD") => return b"AT_FDCWD".to_vec(),
        (_, b"filename" | b"pathname" | b"path" | b"oldname" | b"newname") => return path(value),
        (b"close_range", b"flags") => b"CLOSE_RANGE_",
        (b"mmap", b"flags") => b"MAP_",
        (b"mmap", b"prot") => b"PROT_",
        (b"renameat2", b"flags") => b"RENAME_",
        (b"preadv2" | b"pwritev2", b"flags") => b"RWF_",
        (b"fallocate", b"mode") => b"FALLOC_FL_",
        (b"fcntl", b"cmd") => b"F_",
        (b"fcntl", b"arg") if value == b"CLOEXEC" => b"FD_",
        (b"open" | b"openat" | b"dup3", b"flags") | (b"fcntl", b"arg") => b"O_",
        (b"lseek", b"whence") => b"SEEK_",
        _ => return value.to_vec(),
    };
    let flags = value.split(|byte| *byte == b'|').map(|flag| {
        let is_bare = flag.first().is_some_and(u8::is_ascii_alphabetic) && !flag.starts_with(beginning);
        if is_bare { [beginning, flag].concat() } else { flag.to_vec() }
    });
    flags.collect::<Vec<_>>().join(&b'|')
}

/// Writes a path as strace does, with each backslash twice. A path whose text perf did not see is an address.
fn path(value: &[u8]) -> Vec<u8> {
    if value.starts_with(b"\"") {
        value.iter().flat_map(|byte| std::iter::repeat_n(*byte, 1 + usize::from(*byte == b'\\'))).collect()
    } else {
        value.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_time_latency_thread_and_call() {
        let line = b"1.234 ( 0.005 ms): Server thread/42 fsync(fd: 3</w/a (b).sqlite>)    = 0";
        let found = head(line).unwrap();
        assert_eq!((found.start_ns, found.took_ns), (Some(1_234_000), Some(5_000)));
        assert_eq!((found.thread_name, found.thread, found.is_continued), (&b"Server thread"[..], 42, false));
        assert_eq!(result(&found.call[6..]), Some((&b"fd: 3</w/a (b).sqlite>"[..], &b"0"[..])));
        let found = head(b"? (         ): 7  ... [continued]: futex())  = 0").unwrap();
        assert_eq!((found.start_ns, found.took_ns, found.thread, found.is_continued), (None, None, 7, true));
        assert_eq!(head(b"0.1 ( 0.003 ms): brk()   = 0x55").unwrap().thread, 0);
        assert!(head(b"1.0 (0.003 ms) brk()").is_none());
        assert_eq!(head(b"18446744073704.719 ( 0.018 ms): a/1 brk()  = 0").unwrap().start_ns, Some(-4_832_616));
        assert!(head(b"17446744073704.719 ( 0.018 ms): a/1 brk()  = 0").is_none());
        assert_eq!(result(b")             ="), Some((&b""[..], &b"0"[..])));
        let found = head(b"1041.578 (18446744073709.473 ms): a/1 futex()  = 0").unwrap();
        assert_eq!((found.took_ns, found.is_wrapped, found.thread), (None, true, 1));
    }

    #[test]
    fn arguments_are_written_as_strace_does() {
        let written = |call: &str, inside: &str| String::from_utf8(translated(call.as_bytes(), inside.as_bytes())).unwrap();
        let open = written("openat", "dfd: CWD, filename: \"/w/a, b\", flags: RDWR|CREAT, mode: 0x1a4");
        assert_eq!(open, "AT_FDCWD, \"/w/a, b\", O_RDWR|O_CREAT, 0x1a4");
        assert_eq!(written("pread64", "fd: 3</w/a, b>, buf: 0x7f00, count: 100"), "3</w/a, b>, 0x7f00, 100, 0");
        assert_eq!(written("write", "fd: 3, buf: it's \"half, count: 7, count: 100"), "3, 0, 100");
        assert_eq!(written("pread64", "fd: 3, buf: a) = (b, count: 5, pos: 9"), "3, 0, 5, 9");
        assert_eq!(written("openat", "dfd: CWD, filename: 0x7f00, flags: O_RDONLY"), "AT_FDCWD, 0x7f00, O_RDONLY, 0");
        assert_eq!(written("fcntl", "fd: 3, cmd: SETFD, arg: CLOEXEC"), "3, F_SETFD, FD_CLOEXEC");
    }
}
