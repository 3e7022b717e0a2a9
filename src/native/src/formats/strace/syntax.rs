//! The syntax of strace's lines: their beginning, their arguments, and their end.

use super::calls::value_of;
use super::errno;
use crate::formats::number::{seconds_ns, signed, split_at_byte, time_of_day_ns, unsigned};

/// The time at the beginning of a line, in ns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stamp {
    None,
    /// Time since the beginning of 1970.
    Unix(i64),
    /// Time since midnight.
    OfDay(i64),
    /// Time since the line before.
    Relative(i64),
}

/// The number of the thread at the beginning of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Number {
    None,
    /// A bare number, as in a file that strace writes.
    Bare(i64),
    /// A number in brackets, as on a screen. strace leaves it out while it traces one thread only.
    InBrackets(i64),
}

/// Shortest integer part of a time since 1970, which tells it from a relative time.
const UNIX_DIGITS: usize = 9;

/// Splits a line into the number of its thread, its time, and the rest.
pub fn beginning(line: &[u8]) -> (Number, Stamp, &[u8]) {
    let (number, rest) = thread_number(line);
    let rest = rest.trim_ascii_start();
    let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    let Some(stamp) = stamp(&rest[..end]) else { return (number, Stamp::None, rest) };
    let mut rest = rest[end..].trim_ascii_start();
    // With -r and another option for times, the relative time follows in brackets.
    if let Some(relative) = rest.strip_prefix(b"(+") {
        rest = split_at_byte(relative, b')').map_or(rest, |(_, rest)| rest.trim_ascii_start());
    }
    (number, stamp, rest)
}

fn thread_number(line: &[u8]) -> (Number, &[u8]) {
    if let Some((inside, rest)) = line.strip_prefix(b"[pid ").and_then(|rest| split_at_byte(rest, b']')) {
        // Option -Y adds the name of the thread.
        let digits = inside.trim_ascii().split(|byte| *byte == b'<').next().unwrap_or_default();
        return unsigned(digits).map_or((Number::None, line), |number| (Number::InBrackets(number), rest));
    }
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = &line[digits..];
    let rest = match rest.first() {
        Some(b'<') => split_at_byte(rest, b'>').map_or(rest, |(_, rest)| rest),
        _ => rest,
    };
    match (unsigned(&line[..digits]), rest.first()) {
        (Some(number), Some(b' ')) => (Number::Bare(number), rest),
        _ => (Number::None, line),
    }
}

fn stamp(word: &[u8]) -> Option<Stamp> {
    if !word.first()?.is_ascii_digit() {
        return None;
    }
    if memchr::memchr(b':', word).is_some() {
        return time_of_day_ns(word).map(Stamp::OfDay);
    }
    let whole = memchr::memchr(b'.', word)?;
    seconds_ns(word).map(if whole >= UNIX_DIGITS { Stamp::Unix } else { Stamp::Relative })
}

/// Largest number of arguments that are looked at.
const MOST: usize = 8;

/// The arguments of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arguments<'a> {
    words: [&'a [u8]; MOST],
    count: usize,
}

impl<'a> Arguments<'a> {
    pub fn all(&self) -> impl Iterator<Item = &'a [u8]> {
        self.words[..self.count].iter().copied()
    }

    pub fn get(&self, at: usize) -> Option<&'a [u8]> {
        self.words[..self.count].get(at).copied()
    }
}

/// Splits the text after a call's opening bracket into its arguments and the text after its closing bracket. Returns `None` for the
/// rest if there is no closing bracket.
pub fn arguments(text: &[u8]) -> (Arguments<'_>, Option<&[u8]>) {
    let mut found = Arguments::default();
    let (mut at, mut start, mut depth) = (0, 0, 0_usize);
    let mut add = |from: usize, to: usize| {
        let word = text[from..to].trim_ascii();
        if found.count < MOST && !(word.is_empty() && found.count == 0) {
            found.words[found.count] = word;
            found.count += 1;
        }
    };
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_string(text, at),
            b'<' if at > 0 && is_annotated(text[at - 1]) && text.get(at + 1) != Some(&b'<') => at = end_of_annotation(text, at),
            b'(' | b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b')' if depth > 0 => depth -= 1,
            b')' => {
                add(start, at);
                return (found, Some(&text[at + 1..]));
            }
            b',' if depth == 0 => {
                add(start, at);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    add(start, text.len());
    (found, None)
}

/// Returns the place of the quote that ends the string which begins at `start`.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(step) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        if text[at + step] == b'"' {
            return at + step;
        }
        at += step + 2;
    }
    text.len()
}

/// Returns whether a file name in angle brackets may follow a byte. It follows a descriptor, or `AT_FDCWD`.
fn is_annotated(before: u8) -> bool {
    before.is_ascii_digit() || before == b'D'
}

/// Returns the place of the bracket that ends a file's name, which begins at `start`. The name itself may have such brackets.
fn end_of_annotation(text: &[u8], start: usize) -> usize {
    memchr::memchr_iter(b'>', &text[start..])
        .map(|step| start + step)
        .find(|at| matches!(text.get(at + 1), None | Some(b',' | b')' | b']' | b'}')) || text[at + 1..].starts_with(b" <"))
        .unwrap_or(start)
}

/// The end of a line: the result of the call, and the time that it took.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct End<'a> {
    /// The result, or minus the number of the error. `None` if the call has not ended, or begins again.
    pub result: Option<i64>,
    /// Name of the file whose descriptor is the result, if strace prints it.
    pub name: Option<&'a [u8]>,
    pub took_ns: Option<i64>,
}

/// Splits the time that a call took, such as `<0.000012>`, off the end of its line.
pub fn took(text: &[u8]) -> (&[u8], Option<i64>) {
    let inside = text.strip_suffix(b">").and_then(|rest| memchr::memrchr(b'<', rest).map(|at| (&rest[..at], &rest[at + 1..])));
    match inside.and_then(|(rest, digits)| Some((rest, seconds_ns(digits)?))) {
        Some((rest, ns)) if rest.ends_with(b" ") => (rest.trim_ascii_end(), Some(ns)),
        _ => (text, None),
    }
}

/// Parses the text after a call's closing bracket.
pub fn end(text: &[u8]) -> Option<End<'_>> {
    let (text, took_ns) = took(text.trim_ascii_start().strip_prefix(b"=")?.trim_ascii());
    if text.first() == Some(&b'?') {
        return Some(End { result: None, name: None, took_ns });
    }
    let length = text.iter().position(|byte| *byte == b' ' || *byte == b'<').unwrap_or(text.len());
    let (value, rest) = (integer(&text[..length])?, &text[length..]);
    if let Some(name) = rest.strip_prefix(b"<") {
        let end = memchr::memrchr(b'>', name)?;
        return Some(End { result: Some(value), name: Some(&name[..end]), took_ns });
    }
    let error = rest.strip_prefix(b" E").map(|_| rest[1..].split(|byte| *byte == b' ').next().unwrap_or_default());
    let result = match error {
        // An error without a known number is one that the call has in common with no other.
        Some(name) => -errno::number(name).unwrap_or(1),
        None => value,
    };
    Some(End { result: Some(result), name: None, took_ns })
}

/// Parses an integer in base 8, 10 or 16, as strace writes them. Larger addresses than an `i64` holds are cut to it.
pub fn integer(word: &[u8]) -> Option<i64> {
    if let Some(digits) = word.strip_prefix(b"0x") {
        let text = std::str::from_utf8(digits).ok()?;
        return u64::from_str_radix(text, 16).ok().map(u64::cast_signed);
    }
    if word.len() > 1 && word[0] == b'0' {
        return i64::from_str_radix(std::str::from_utf8(word).ok()?, 8).ok();
    }
    signed(word).or_else(|| std::str::from_utf8(word).ok()?.parse::<u64>().ok().map(u64::cast_signed))
}

/// Returns the value of a number, of names of flags, or of the field `flags` of a structure. A file's name after a descriptor is
/// left out.
pub fn number(word: &[u8]) -> i64 {
    let word = match word.strip_prefix(b"{") {
        Some(fields) => field(fields, b"flags=").unwrap_or(b"0"),
        None => word,
    };
    let word = word.split(|byte| *byte == b'<').next().unwrap_or_default();
    integer(word).unwrap_or_else(|| {
        word.split(|byte| *byte == b'|')
            .map(|name| integer(name).unwrap_or_else(|| value_of(name)))
            .fold(0, |all, value| all | value)
    })
}

/// Returns the value of a field of a structure.
fn field<'a>(fields: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at = memchr::memmem::find(fields, name)? + name.len();
    fields[at..].split(|byte| matches!(byte, b',' | b'}' | b' ')).next()
}

/// Returns whether flags, or the field `flags` of a structure, have one with a name.
pub fn has_flag(word: &[u8], flag: &[u8]) -> bool {
    let flags = field(word, b"flags=").unwrap_or(word);
    flags.split(|byte| *byte == b'|').any(|name| name == flag)
}

/// Returns the name of the file that strace prints after a descriptor.
pub fn annotation(word: &[u8]) -> Option<&[u8]> {
    split_at_byte(word, b'<').and_then(|(_, name)| name.strip_suffix(b">"))
}

/// Adds up the lengths of an array of buffers. Returns `None` if strace has cut the array off, or does not print it.
pub fn buffers_length(word: &[u8]) -> Option<i64> {
    let inside = word.strip_prefix(b"[")?;
    if inside.ends_with(b"...]") {
        return None;
    }
    let (mut total, mut at) = (0_i64, 0);
    while at < inside.len() {
        if inside[at] == b'"' {
            at = end_of_string(inside, at) + 1;
        } else if inside[at..].starts_with(b"iov_len=") {
            at += b"iov_len=".len();
            let digits = inside[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            total = total.checked_add(unsigned(&inside[at..at + digits])?)?;
            at += digits;
        } else {
            at += 1;
        }
    }
    Some(total)
}

/// Returns the two descriptors of an array such as `[3, 4]`.
pub fn pair(word: &[u8]) -> Option<(i64, i64)> {
    let (first, second) = split_at_byte(word.strip_prefix(b"[")?.strip_suffix(b"]")?, b',')?;
    Some((number(first.trim_ascii()), number(second.trim_ascii())))
}

/// Returns the bytes of a string, and whether strace has cut it off. Returns `None` if the word is no string, such as an address.
pub fn string(word: &[u8]) -> Option<(Vec<u8>, bool)> {
    if word.first() != Some(&b'"') {
        return None;
    }
    let end = end_of_string(word, 0);
    let is_cut = word.get(end + 1..).is_some_and(|rest| rest.starts_with(b"..."));
    Some((unescaped(word.get(1..end)?), is_cut))
}

/// Returns the bytes that a text with C's escapes stands for.
pub fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        bytes.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = match rest.first() {
            Some(b'x') => 1 + rest[1..].iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count(),
            _ => rest.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count(),
        };
        let code = std::str::from_utf8(&rest[..digits]).unwrap_or_default();
        let (byte, length) = match rest.first() {
            Some(b'x') => (u32::from_str_radix(&code[1..], 16).ok(), digits),
            _ if digits > 0 => (u32::from_str_radix(code, 8).ok(), digits),
            Some(b'n') => (Some(10), 1),
            Some(b't') => (Some(9), 1),
            Some(b'r') => (Some(13), 1),
            Some(b'v') => (Some(11), 1),
            Some(b'f') => (Some(12), 1),
            Some(other) => (Some(u32::from(*other)), 1),
            None => (None, 0),
        };
        bytes.extend(byte.map(|byte| byte.to_le_bytes()[0]));
        rest = &rest[length..];
    }
    bytes.extend_from_slice(rest);
    bytes
}
