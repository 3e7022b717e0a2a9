//! The output of blkparse in its default format, with all its actions, and that of the kernel's own tracer `blk` with its option
//! `blk_classic`, which lacks the column of sequence numbers.
//!
//! A request passes a queue (Q), may take in others (M, F), is issued to the device (D) and completed (C). One row stands for one
//! request to the device. Its start is the time of D, and the time since its first Q is its time in the queue. A device that has
//! no queue of its own, such as a stack of others, has no D, and its requests start at Q.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::biosnoop::operation;
use super::number::{find, seconds_ns, signed, split_at_byte, unsigned, words};
use super::output::Output;
use super::table::Row;
use super::{COMMENTS, EMPTY, Format, Reader};

pub const FORMAT: Format = Format {
    name: "blkparse",
    about: "output of blkparse in its default format, or of the kernel's tracer blk with blk_classic",
    level: "block",
    reader: || Box::new(Blkparse::default()),
};
const PASSED_ON: &str = "requests to a device that passed them on to others, where the trace has them again";
/// Beginnings of lines that say nothing about a request, also of those of blktrace.
const ASIDE: [&[u8]; 6] = [b"#", b"===", b"  CPU", b"You have ", b"Consider ", b"Input file "];
/// Beginnings of lines with which a summary begins, or one of a program, which option -s prints.
const SUMMARIES: [&[u8]; 3] = [b"CPU", b"Total (", b" Reads Queued:"];
const WRITTEN: &[u8] = b"entries-in-buffer/entries-written: ";
const SECTOR_BYTES: i64 = 512;
const COLUMNS: &str = "lacks the columns of blkparse's default format";
/// Time by which a line may be older than the line before it.
const DISORDER_NS: i64 = 1_000_000;

#[derive(Default)]
struct Blkparse {
    devices: FxHashMap<Vec<u8>, Device>,
    /// Whether the summary after the events has begun.
    is_summary: bool,
    last_ns: i64,
}

/// The requests of a device that have not been completed, by first sector and a serial number.
#[derive(Default)]
struct Device {
    queued: BTreeMap<(i64, u64), Queued>,
    issued: BTreeMap<(i64, u64), Issued>,
    serial: u64,
}

struct Queued {
    sectors: i64,
    ns: i64,
    process: i64,
    command: Vec<u8>,
    op: &'static [u8],
    /// Whether it has become a part of another request.
    is_merged: bool,
    /// Whether the device has passed it on to a device below it, where the trace has it again.
    is_passed_on: bool,
}

struct Issued {
    sectors: i64,
    ns: i64,
    queued_ns: Option<i64>,
    process: i64,
    command: Vec<u8>,
    op: &'static [u8],
    is_passed_on: bool,
}

/// One line.
struct Event<'a> {
    device: &'a [u8],
    ns: i64,
    process: i64,
    action: &'a [u8],
    kind: &'a [u8],
    sector: i64,
    sectors: i64,
    command: &'a [u8],
    /// The part after the kind of the request.
    rest: &'a [u8],
}

impl Reader for Blkparse {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        if line.trim_ascii().is_empty() {
            output.skip(EMPTY);
            return Ok(());
        }
        // An event begins with the number of its device.
        if !line.trim_ascii_start()[0].is_ascii_digit() {
            let lost = lost_events(line);
            output.lack("lost events", lost.unwrap_or(0));
            if lost.is_some() || ASIDE.iter().any(|begin| line.starts_with(begin)) {
                output.skip(COMMENTS);
                return Ok(());
            }
        }
        self.is_summary |= !self.devices.is_empty() && SUMMARIES.iter().any(|begin| line.starts_with(begin));
        // Another trace may follow the summary of one.
        let event = match parsed(line) {
            Err(_) if self.is_summary => {
                output.skip("lines of the summary");
                return Ok(());
            }
            found => found?,
        };
        self.is_summary = false;
        if event.action == b"A" {
            self.remap(event.rest);
        }
        let ns = event.ns;
        if ns < self.last_ns - DISORDER_NS {
            output.contradict("the clock runs backwards");
        }
        self.last_ns = ns;
        self.event(&event, output)
    }

    fn end(&mut self, output: &mut Output) {
        output.facts.insert("clock", "time since the beginning of the trace".into());
        let mut devices: Vec<_> = std::mem::take(&mut self.devices).into_iter().collect();
        devices.sort_by(|left, right| left.0.cmp(&right.0));
        for (name, device) in devices {
            let waiting = device.queued.values().filter(|queued| !queued.is_merged && !queued.is_passed_on).count();
            output.unfinished += (device.issued.len() + waiting) as u64;
            output.skip_many("requests that were queued and neither issued nor completed", waiting as u64);
            for ((sector, _), issued) in device.issued.into_iter().filter(|(_, issued)| !issued.is_passed_on) {
                push(&name, sector, &issued, None, output);
            }
        }
    }
}

impl Blkparse {
    /// Marks the request of the device from which one is passed on, as `<- (253,0) 1000` says.
    fn remap(&mut self, rest: &[u8]) {
        let from = find(rest, b"<- (").and_then(|at| split_at_byte(&rest[at + 4..], b')'));
        let Some((device, sector)) = from else { return };
        let (Some(device), Some(sector)) = (self.devices.get_mut(device), words(sector).next().and_then(unsigned)) else {
            return;
        };
        let upto = ..=(sector, u64::MAX);
        if let Some((_, queued)) =
            device.queued.range_mut(upto).next_back().filter(|((first, _), queued)| sector - first < queued.sectors)
        {
            queued.is_passed_on = true;
        }
        if let Some((_, issued)) =
            device.issued.range_mut(upto).next_back().filter(|((first, _), issued)| sector - first < issued.sectors)
        {
            issued.is_passed_on = true;
        }
    }

    fn event(&mut self, event: &Event, output: &mut Output) -> Result<(), &'static str> {
        let skipped = match event.action {
            b"Q" | b"D" | b"C" | b"R" | b"M" | b"F" => None,
            b"m" => Some("messages"),
            b"A" => Some("remaps"),
            b"G" | b"I" | b"P" | b"U" | b"UT" | b"T" | b"S" | b"B" | b"X" | b"a" => Some("other actions"),
            _ => return Err("has an action that blkparse does not have"),
        };
        if let Some(kind) = skipped {
            output.skip(kind);
            return Ok(());
        }
        // Without sectors, only a flush is no command to the device, and blkparse always marks it by an F.
        let op = operation(event.kind, event.sectors).filter(|_| event.sectors > 0 || event.kind.contains(&b'F'));
        let Some(op) = op else {
            output.skip("commands to the device");
            return Ok(());
        };
        if !self.devices.contains_key(event.device) {
            self.devices.insert(event.device.into(), Device::default());
        }
        let Some(device) = self.devices.get_mut(event.device) else { return Ok(()) };
        device.serial += 1;
        let key = (event.sector, device.serial);
        match event.action {
            b"Q" => {
                let (process, command) = (event.process, event.command.into());
                let queued =
                    Queued { sectors: event.sectors, ns: event.ns, process, command, op, is_merged: false, is_passed_on: false };
                device.queued.insert(key, queued);
            }
            b"D" => {
                let issued = device.issue(event, op);
                device.issued.insert(key, issued);
            }
            b"R" => {
                device.requeue(event);
                output.skip("requests put back into the queue");
            }
            b"M" | b"F" => {
                device.merge(event);
                output.skip("merges");
            }
            _ => device.complete(event, output),
        }
        Ok(())
    }
}

impl Device {
    /// Takes the queued requests that an issued request consists of out of the queue.
    fn issue(&mut self, event: &Event, op: &'static [u8]) -> Issued {
        let first = self.take_queued(event);
        Issued {
            sectors: event.sectors,
            ns: event.ns,
            queued_ns: first.as_ref().map(|queued| event.ns - queued.ns),
            process: first.as_ref().map_or(event.process, |queued| queued.process),
            is_passed_on: first.as_ref().is_some_and(|queued| queued.is_passed_on),
            command: first.map_or_else(|| event.command.into(), |queued| queued.command),
            op,
        }
    }

    /// Takes all queued requests within the sectors of `event` out of the queue, and returns the one that was queued first.
    fn take_queued(&mut self, event: &Event) -> Option<Queued> {
        let end = event.sector + event.sectors.max(1);
        let inside = self.queued.range((event.sector, 0)..(end, 0)).filter(|((sector, _), queued)| {
            (queued.sectors == 0) == (event.sectors == 0) && sector + queued.sectors <= event.sector + event.sectors
        });
        let mut taken: Vec<_> = inside.map(|(key, queued)| (*key, queued.ns, queued.sectors)).collect();
        // If two requests are for the same sector, only the earlier one belongs to this request.
        taken.sort_by_key(|((sector, serial), _, _)| (*sector, *serial));
        taken.dedup_by_key(|((sector, _), _, _)| *sector);
        let removed = taken.into_iter().filter_map(|(key, _, _)| self.queued.remove(&key));
        removed.min_by_key(|queued| queued.ns)
    }

    /// Puts an issued request back into the queue.
    fn requeue(&mut self, event: &Event) {
        if let Some((key, issued)) = self.take_issued(event) {
            let ns = issued.ns - issued.queued_ns.unwrap_or(0);
            let (sectors, process, command, op) = (issued.sectors, issued.process, issued.command, issued.op);
            let is_passed_on = issued.is_passed_on;
            self.queued.insert(key, Queued { sectors, ns, process, command, op, is_merged: false, is_passed_on });
        }
    }

    /// Marks the queued request that begins at the sector of `event` as a part of another one.
    fn merge(&mut self, event: &Event) {
        let same = self.queued.range_mut((event.sector, 0)..(event.sector + 1, 0));
        if let Some((_, queued)) = same.last() {
            queued.is_merged = true;
        }
    }

    fn complete(&mut self, event: &Event, output: &mut Output) {
        let errno = errno(event.command);
        if let Some(((_, serial), mut issued)) = self.take_issued(event) {
            if issued.is_passed_on {
                output.skip(PASSED_ON);
                return;
            }
            let rest = issued.sectors - event.sectors;
            if event.sectors > 0 && rest > 0 {
                // The device has completed the first part only.
                issued.sectors = event.sectors;
                push(event.device, event.sector, &issued, Some((event.ns, errno)), output);
                issued.sectors = rest;
                self.issued.insert((event.sector + event.sectors, serial), issued);
                output.contradict("a request was completed in parts");
            } else {
                push(event.device, event.sector, &issued, Some((event.ns, errno)), output);
            }
        } else if let Some(queued) = self.take_queued(event) {
            if queued.is_passed_on {
                output.skip(PASSED_ON);
                return;
            }
            let (sectors, process, command, op) = (event.sectors, queued.process, queued.command, queued.op);
            let issued = Issued { sectors, ns: queued.ns, queued_ns: None, process, command, op, is_passed_on: false };
            push(event.device, event.sector, &issued, Some((event.ns, errno)), output);
            output.skip("requests of a device that does not issue them, so that they start when they are queued");
        } else {
            output.skip("completions of requests whose issue is not in the trace");
        }
    }

    /// Takes out the issued request that begins at the sector of `event`, and was issued first.
    fn take_issued(&mut self, event: &Event) -> Option<((i64, u64), Issued)> {
        let same = self.issued.range((event.sector, 0)..(event.sector + 1, 0));
        let key = same.filter(|(_, issued)| (issued.sectors == 0) == (event.sectors == 0)).map(|(key, _)| *key).next()?;
        self.issued.remove(&key).map(|issued| (key, issued))
    }
}

/// Splits a line into its columns.
fn parsed(line: &[u8]) -> Result<Event<'_>, &'static str> {
    let mut parts = words(line);
    let mut next = || parts.next().ok_or(COLUMNS);
    let (device, cpu, third) = (next()?, next()?, next()?);
    let (sequence, time) = if third.contains(&b'.') { (&b"0"[..], third) } else { (third, next()?) };
    let ns = seconds_ns(time).ok_or(COLUMNS)?;
    let process = next()?;
    let (major, minor) = split_at_byte(device, b',').ok_or(COLUMNS)?;
    for number in [major, minor, cpu, sequence, process] {
        unsigned(number).ok_or(COLUMNS)?;
    }
    let (action, kind) = (next()?, next()?);
    let rest = rest_after(line, kind);
    let (sector, sectors, command) = place(rest);
    let process = unsigned(process).ok_or(COLUMNS)?;
    Ok(Event { device, ns, process, action, kind, sector, sectors, command, rest })
}

/// Returns the number of events that a line says are missing in the trace, or `None` if it speaks of something else.
///
/// The kernel's tracer says so between events and in its head, blktrace in its summary, and blkparse in its own.
fn lost_events(line: &[u8]) -> Option<u64> {
    let after = |begin: &[u8], word: &[u8]| {
        let at = find(line, word).filter(|_| line.trim_ascii_start().starts_with(begin))? + word.len();
        let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b',');
        unsigned(&digits.copied().filter(|byte| *byte != b',').collect::<Vec<_>>()).map(i64::unsigned_abs)
    };
    if let Some(at) = find(line, WRITTEN).filter(|_| line.starts_with(b"#")) {
        let (kept, all) = split_at_byte(&line[at + WRITTEN.len()..], b'/')?;
        return Some(words(all).next().and_then(unsigned)?.abs_diff(unsigned(kept)?));
    }
    after(b"CPU:", b"[LOST ").or_else(|| after(b"Total:", b"(dropped ")).or_else(|| after(b"Skips:", b" forward ("))
}

/// Returns the number of the error that a completion has in square brackets. It is negative, or a negative number in 16 bits.
fn errno(word: &[u8]) -> Option<i64> {
    let value = signed(word)?;
    Some(if value > i64::from(i16::MAX) { (1 << 16) - value } else { value.abs() })
}

/// Puts a request into the table. `end` has the time and the error of its completion, if there was one.
fn push(device: &[u8], sector: i64, issued: &Issued, end: Option<(i64, Option<i64>)>, output: &mut Output) {
    let is_flush = issued.op == b"flush";
    let row = Row {
        op: issued.op,
        start_ns: Some(issued.ns),
        latency_ns: end.map(|(end_ns, _)| end_ns - issued.ns),
        errno: end.and_then(|(_, errno)| errno),
        queued_ns: issued.queued_ns,
        process: Some(issued.process),
        thread_name: Some(issued.command.as_slice()).filter(|command| !command.is_empty()),
        volume: Some(device),
        offset: sector.checked_mul(SECTOR_BYTES).filter(|_| !is_flush),
        length: issued.sectors.checked_mul(SECTOR_BYTES).filter(|_| !is_flush),
        ..Row::default()
    };
    output.table.push(&row);
}

/// Returns the part of a line after one of its words.
fn rest_after<'a>(line: &'a [u8], word: &[u8]) -> &'a [u8] {
    let end = word.as_ptr() as usize + word.len() - line.as_ptr() as usize;
    &line[end..]
}

/// Parses `sector + sectors [command]`. The sectors are 0 if there are none, as for a flush.
fn place(rest: &[u8]) -> (i64, i64, &[u8]) {
    let mut parts = words(rest);
    let sector = parts.next().and_then(unsigned);
    let sectors = parts.next().filter(|word| *word == b"+").and_then(|_| parts.next()).and_then(unsigned);
    let open = memchr::memchr(b'[', rest).map_or(rest.len(), |at| at + 1);
    let close = memchr::memrchr(b']', rest).unwrap_or(rest.len()).max(open);
    (sector.unwrap_or(0), sectors.unwrap_or(0), &rest[open..close])
}
