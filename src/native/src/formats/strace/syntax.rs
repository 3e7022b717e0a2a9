//! The syntax of strace's lines: their beginning, their arguments, and their end.

use std::borrow::Cow;

use super::calls::value_of;
use super::errno;
use crate::formats::number::{find, seconds_ns, signed, split_at_byte, time_of_day_ns, unsigned};

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

/// Largest number of a thread, which the kernel does not exceed. A larger one is a time.
const LARGEST_NUMBER: i64 = 1 << 22;

/// The beginning of a line.
pub struct Beginning<'a> {
    pub number: Number,
    /// Name of the thread, which option `-Y` adds to its number, or an empty text.
    pub name: &'a [u8],
    pub stamp: Stamp,
    pub rest: &'a [u8],
}

/// Splits a line into the number and the name of its thread, its time, and the rest.
pub fn beginning(line: &[u8]) -> Beginning<'_> {
    let (number, name, rest) = thread_number(line);
    let rest = without_brackets(rest);
    let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    let Some(stamp) = stamp(&rest[..end]) else { return Beginning { number, name, stamp: Stamp::None, rest } };
    let mut rest = rest[end..].trim_ascii_start();
    // With -r and another option for times, the relative time follows in brackets.
    if let Some(relative) = rest.strip_prefix(b"(+") {
        rest = split_at_byte(relative, b')').map_or(rest, |(_, rest)| rest);
    }
    Beginning { number, name, stamp, rest: without_brackets(rest) }
}

/// Leaves out what `--secontext`, `-n` and `-i` print before a time or a call: words in square brackets.
fn without_brackets(text: &[u8]) -> &[u8] {
    let rest = text.trim_ascii_start();
    match rest.strip_prefix(b"[").and_then(|inside| split_at_byte(inside, b']')) {
        Some((inside, after)) if after.starts_with(b" ") && !inside.trim_ascii().contains(&b' ') => without_brackets(after),
        _ => rest,
    }
}

fn thread_number(line: &[u8]) -> (Number, &[u8], &[u8]) {
    if let Some(inside) = line.strip_prefix(b"[pid ") {
        let found = numbered(inside.trim_ascii_start(), b"]");
        return found.map_or((Number::None, b"", line), |(number, name, rest)| (Number::InBrackets(number), name, rest));
    }
    numbered(line, b" ").map_or((Number::None, b"", line), |(number, name, rest)| (Number::Bare(number), name, rest))
}

/// Splits a number and the name that may follow it in angle brackets off a text. `end` stands behind them, and also within names.
fn numbered<'a>(text: &'a [u8], end: &[u8]) -> Option<(i64, &'a [u8], &'a [u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = unsigned(&text[..digits]).filter(|number| *number <= LARGEST_NUMBER)?;
    if let Some(rest) = text[digits..].strip_prefix(end) {
        return Some((number, b"", rest));
    }
    let named = text[digits..].strip_prefix(b"<")?;
    memchr::memchr_iter(b'>', named).find_map(|at| {
        let rest = named[at + 1..].strip_prefix(end)?;
        begins_line(rest.trim_ascii_start()).then_some((number, &named[..at], rest))
    })
}

/// Returns whether a text begins as lines do after the number and the name of their thread.
fn begins_line(text: &[u8]) -> bool {
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    text.starts_with(b"[") || stamp(&text[..end]).is_some() || begins_call(text)
}

/// Returns whether a text begins as lines do after their time.
pub fn begins_call(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'?')).unwrap_or(text.len());
    end > 0 && text[end..].starts_with(b"(") || matches!(text.first(), Some(b'<' | b'+' | b'-'))
}

fn stamp(word: &[u8]) -> Option<Stamp> {
    if !word.first()?.is_ascii_digit() {
        return None;
    }
    if memchr::memchr(b':', word).is_some() {
        return time_of_day_ns(word).map(Stamp::OfDay);
    }
    // With the precision of a second there is no point.
    let whole = memchr::memchr(b'.', word).unwrap_or(word.len());
    seconds_ns(word).map(if whole >= UNIX_DIGITS { Stamp::Unix } else { Stamp::Relative })
}

/// Takes out the colours that strace 7 prints, which a line has nowhere else: it escapes such bytes in texts.
pub fn without_colours(line: &[u8]) -> Cow<'_, [u8]> {
    let mut plain = Cow::Borrowed(line);
    while let Some(at) = memchr::memchr(0x1b, &plain) {
        let end = memchr::memchr(b'm', &plain[at..]).map_or(plain.len(), |step| at + step + 1);
        plain.to_mut().drain(at..end);
    }
    plain
}

/// Kinds of lines that follow the line of a call: with option -k, and with `-e read`, `-e write` and `-e kvm`.
pub const STACKS: &str = "lines of stacks";
pub const DUMPS: &str = "lines of dumped data";

/// Returns the kind of a line that strace adds to the line of a call, or `None` if the line is none of them.
pub fn addition(line: &[u8]) -> Option<&'static str> {
    match line.get(..3)? {
        b" > " => Some(STACKS),
        b" | " | b" * " | b" VC" => Some(DUMPS),
        _ => None,
    }
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
        let word = without_name(text[from..to].trim_ascii());
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

/// Leaves out the name of an argument, such as `fd=`, which option `-N` prints.
fn without_name(word: &[u8]) -> &[u8] {
    if !word.first().is_some_and(u8::is_ascii_lowercase) {
        return word;
    }
    let end = word.iter().position(|byte| !byte.is_ascii_lowercase() && !byte.is_ascii_digit() && *byte != b'_');
    end.and_then(|end| word[end..].strip_prefix(b"=")).unwrap_or(word)
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

/// Returns whether a file name in angle brackets may follow a byte. It follows a descriptor, `AT_FDCWD`, or a comment on it.
fn is_annotated(before: u8) -> bool {
    before.is_ascii_digit() || before == b'D' || before == b'/'
}

/// Returns the place of the bracket that ends a file's name, which begins at `start`. The name itself may have such brackets.
///
/// `(deleted)` follows the name of a file that has none any more, and `--secontext` adds a context in square brackets.
fn end_of_annotation(text: &[u8], start: usize) -> usize {
    let ends = |rest: &[u8]| match rest {
        [] | [b',' | b')' | b']' | b'}', ..] | [b' ', b'<' | b'[' | b'/', ..] => true,
        rest => rest.starts_with(b"(deleted)"),
    };
    memchr::memchr_iter(b'>', &text[start..]).map(|step| start + step).find(|at| ends(&text[at + 1..])).unwrap_or(start)
}

/// The end of a line: the result of the call, and the time that it took.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct End<'a> {
    /// The result, or minus the number of the error. `None` if the call has not ended, or begins again.
    pub result: Option<i64>,
    /// Name of the file whose descriptor is the result, if strace prints it.
    pub name: Option<&'a [u8]>,
    /// Number of the thread that is the result among the processes of strace, if it has another one for itself.
    pub thread: Option<i64>,
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
    let mut end = End { result: None, name: None, thread: None, took_ns };
    if text.first() == Some(&b'?') {
        return Some(end);
    }
    let length = text.iter().position(|byte| *byte == b' ' || *byte == b'<').unwrap_or(text.len());
    let (value, rest) = (integer(&text[..length])?, &text[length..]);
    end.thread = comment(rest).and_then(|words| unsigned(words.strip_suffix(b" in strace's PID NS")?));
    if rest.starts_with(b"<") {
        end.name = Some(annotation(rest)?);
    }
    let error = rest.strip_prefix(b" E").map(|_| rest[1..].split(|byte| *byte == b' ').next().unwrap_or_default());
    end.result = match (error, rest.strip_prefix(b" (errno ").and_then(|rest| split_at_byte(rest, b')'))) {
        // An error without a known number is one that the call has in common with no other.
        (Some(name), _) => Some(-errno::number(name).unwrap_or(1)),
        (None, Some((number, _))) => Some(-unsigned(number)?),
        (None, None) => Some(value),
    };
    Some(end)
}

/// Returns the text of a comment, without the blanks around it.
fn comment(text: &[u8]) -> Option<&[u8]> {
    let inside = &text[find(text, b"/* ")? + 3..];
    Some(&inside[..find(inside, b" */")?])
}

/// Parses an integer in base 8, 10 or 16, as strace writes them. Larger addresses than an `i64` holds are cut to it.
pub fn integer(word: &[u8]) -> Option<i64> {
    if let Some(digits) = word.strip_prefix(b"0x") {
        let value = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        // Option -X raw prints a negative descriptor in 32 bits. No address or size in whole pages looks like it.
        let is_negative = (0xffff_ff00..=0xffff_ffff).contains(&value);
        return Some(if is_negative { value.cast_signed() - (1 << 32) } else { value.cast_signed() });
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
    // A comment follows a number with option -X verbose, and a file's name a descriptor with -y.
    let word = word.split(|byte| matches!(byte, b'<' | b' ')).next().unwrap_or_default();
    integer(word).unwrap_or_else(|| {
        word.split(|byte| *byte == b'|')
            .map(|name| integer(name).unwrap_or_else(|| value_of(name)))
            .fold(0, |all, value| all | value)
    })
}

/// Returns the value of a field of a structure.
fn field<'a>(fields: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at = find(fields, name)? + name.len();
    fields[at..].split(|byte| matches!(byte, b',' | b'}' | b' ')).next()
}

/// Returns the name of the file that strace prints after a descriptor.
pub fn annotation(word: &[u8]) -> Option<&[u8]> {
    let (_, inside) = split_at_byte(word, b'<')?;
    memchr::memrchr(b'>', inside).map(|end| &inside[..end])
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
