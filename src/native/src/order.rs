//! Finds which calls of a trace must be completed before which others. A replay that keeps this order may leave the times of the
//! trace.

use std::collections::{BTreeMap, HashMap};

/// The effect of a call on the names and contents of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A read or a write.
    Content,
    /// A call that changes the life of a file: open, close, truncate, rename, unlink.
    Life,
    /// A sync of one file.
    Sync,
    /// A call that concerns many files: a sync of a file system or of a folder, and a rename or removal of a folder.
    Whole,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Content, Self::Life, Self::Sync, Self::Whole];
}

/// A call of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub begin_ns: u64,
    /// Time at which the call ended, or `None` if the trace does not tell.
    pub end_ns: Option<u64>,
    /// Number of the stream that makes the call. A stream makes its calls one after another.
    pub stream: u32,
    pub kind: Kind,
    pub file: u32,
    /// The new name of a rename, and otherwise any file.
    pub other: u32,
}

/// The calls that another stream must have completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    pub stream: u32,
    /// Number of calls that the stream must have completed, at least 1.
    pub count: u32,
}

impl Need {
    /// Size in bytes of a packed need: the waiting call, the stream that it waits for, and the number of calls, each of 4 bytes.
    const PACKED_BYTES: usize = 12;

    /// Packs a need of a call.
    pub fn pack(self, call: u32) -> [u8; Self::PACKED_BYTES] {
        let words = [call, self.stream, self.count].map(u32::to_le_bytes);
        std::array::from_fn(|at| words[at / 4][at % 4])
    }

    fn unpack(packed: &[u8]) -> (u32, Self) {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| packed[at + byte]));
        (word(0), Self { stream: word(4), count: word(8) })
    }
}

/// The number of calls of each stream that have ended, from those that were looked at.
type Ended = BTreeMap<u32, u32>;

fn note(ended: &mut Ended, need: Need) {
    let count = ended.entry(need.stream).or_default();
    *count = need.count.max(*count);
}

#[derive(Default)]
struct File {
    /// All calls to the file.
    all: Ended,
    /// Calls that changed its life.
    lives: Ended,
}

/// Finds for each call the calls of other streams that it waits for, beside those of its own stream before it. `calls` are in the
/// order of their begins.
///
/// A call waits for the one that had ended last when it began (Shape, section on dependency analysis). If `is_strict`, it also
/// waits for all syncs that had ended. A read or a write then waits for the calls that had changed the life of its file, and every
/// other call waits for all calls to its file, or to all files if it concerns many. Returns pairs of a place in `calls` and a
/// need, in the order of `calls`. A need that an earlier need of the same stream implies is left out.
pub fn order(calls: &[Call], is_strict: bool) -> Vec<(u32, Need)> {
    let needs = numbered(calls);
    let end_ns = |number: u32| calls[number as usize].end_ns.unwrap_or(u64::MAX);
    let mut by_end: Vec<u32> = (0..).zip(calls).filter(|(_, call)| call.end_ns.is_some()).map(|(number, _)| number).collect();
    by_end.sort_by_key(|&number| end_ns(number));
    let mut ends = by_end.into_iter().peekable();
    let (mut last, mut syncs, mut all) = (None, Ended::new(), Ended::new());
    let mut files: HashMap<u32, File> = HashMap::new();
    let mut implied: HashMap<(u32, u32), u32> = HashMap::new();
    let mut found = Vec::new();
    for (number, call) in (0_u32..).zip(calls) {
        // A call that takes no time has ended when it begins, but does not wait for itself or for a later one.
        while let Some(ended) = ends.next_if(|&other| end_ns(other) <= call.begin_ns && other < number) {
            let (ended, need) = (&calls[ended as usize], needs[ended as usize]);
            last = Some(need);
            if !is_strict {
                continue;
            }
            note(&mut all, need);
            if matches!(ended.kind, Kind::Sync | Kind::Whole) {
                note(&mut syncs, need);
            }
            for file in [ended.file, ended.other] {
                let file = files.entry(file).or_default();
                note(&mut file.all, need);
                if ended.kind != Kind::Content {
                    note(&mut file.lives, need);
                }
            }
        }
        let mut wanted: Ended = last.iter().map(|need| (need.stream, need.count)).collect();
        let mut want = |ended: &Ended| ended.iter().for_each(|(&stream, &count)| note(&mut wanted, Need { stream, count }));
        if is_strict {
            want(if call.kind == Kind::Whole { &all } else { &syncs });
            for file in [call.file, call.other].iter().filter_map(|file| files.get(file)) {
                want(if call.kind == Kind::Content { &file.lives } else { &file.all });
            }
        }
        for (stream, count) in wanted {
            let before = implied.entry((call.stream, stream)).or_default();
            if stream != call.stream && count > *before {
                *before = count;
                found.push((number, Need { stream, count }));
            }
        }
    }
    found
}

/// Returns for each call what must be completed for that call to be completed: its stream, and its number there from 1 on.
fn numbered(calls: &[Call]) -> Vec<Need> {
    let mut made = HashMap::new();
    let next = |call: &Call| {
        let count = made.entry(call.stream).or_insert(0);
        *count += 1;
        Need { stream: call.stream, count: *count }
    };
    calls.iter().map(next).collect()
}

/// The needs of all calls, which can be found by the place of a call. By default, no call needs another.
#[derive(Debug, Default)]
pub struct Needs {
    /// For each call, the place of its first need. The needs of a call end where those of the next one begin.
    first: Vec<usize>,
    needs: Vec<Need>,
}

impl Needs {
    /// Sorts the needs of calls. `streams` has the stream of each call. Returns `None` if a need names a call that does not exist
    /// or does not come before the waiting one, for which a replay could wait for ever.
    pub fn new(streams: &[u32], mut found: Vec<(u32, Need)>) -> Option<Self> {
        let mut places: HashMap<u32, Vec<u32>> = HashMap::new();
        for (place, &stream) in (0..).zip(streams) {
            places.entry(stream).or_default().push(place);
        }
        let is_before = |&(call, need): &(u32, Need)| {
            let awaited = places.get(&need.stream)?.get((need.count as usize).checked_sub(1)?)?;
            Some((call as usize) < streams.len() && *awaited < call)
        };
        if !found.iter().all(|need| is_before(need).unwrap_or(false)) {
            return None;
        }
        found.sort_unstable();
        let first = (0..=u32::try_from(streams.len()).ok()?).map(|call| found.partition_point(|(waiting, _)| *waiting < call));
        Some(Self { first: first.collect(), needs: found.iter().map(|(_, need)| *need).collect() })
    }

    /// Unpacks and sorts the needs of calls, as `new` takes them. Also returns `None` if their size is wrong.
    pub fn unpack(packed: &[u8], streams: &[u32]) -> Option<Self> {
        let chunks = packed.chunks_exact(Need::PACKED_BYTES);
        chunks.remainder().is_empty().then(|| Self::new(streams, chunks.map(Need::unpack).collect())).flatten()
    }

    /// Returns the needs of a call.
    pub fn of(&self, call: usize) -> &[Need] {
        self.first.get(call..call + 2).map_or(&[], |ends| &self.needs[ends[0]..ends[1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(stream: u32, begin_ns: u64, end_ns: u64, kind: Kind, file: u32) -> Call {
        Call { begin_ns, end_ns: Some(end_ns), stream, kind, file, other: file }
    }

    fn found(calls: &[Call], is_strict: bool) -> Vec<(u32, u32, u32)> {
        order(calls, is_strict).into_iter().map(|(call, need)| (call, need.stream, need.count)).collect()
    }

    #[test]
    fn the_published_example_is_reproduced() {
        // The dependencies 0 1 1 2 2 3 5 of the paper, with the intervals of `pools::depend`. Each call is a stream of its own.
        let times = [(0, 10), (12, 20), (13, 30), (22, 60), (24, 38), (32, 62), (40, 70)];
        let calls: Vec<Call> =
            (0..).zip(times).map(|(stream, (begin_ns, end_ns))| call(stream, begin_ns, end_ns, Kind::Content, 0)).collect();
        let expected = [(1, 0, 1), (2, 0, 1), (3, 1, 1), (4, 1, 1), (5, 2, 1), (6, 4, 1)];
        assert_eq!(found(&calls, false), expected);
        assert_eq!(found(&calls, true), expected);
    }

    #[test]
    fn a_file_is_used_after_it_was_made_and_removed_after_it_was_used() {
        let calls = [
            call(0, 0, 10, Kind::Life, 7),
            call(1, 5, 11, Kind::Content, 8),
            call(2, 12, 20, Kind::Content, 7),
            call(1, 13, 18, Kind::Content, 8),
            call(0, 21, 22, Kind::Life, 7),
            call(3, 30, 31, Kind::Life, 8),
        ];
        // Call 2 waits for call 1, which ended last, and under the strict rule also for the open of its file. Call 4 waits for the
        // read, which ended last. Call 5 waits for call 4, and under the strict rule also for both calls to its file.
        assert_eq!(found(&calls, false), [(2, 1, 1), (4, 2, 1), (5, 0, 2)]);
        assert_eq!(found(&calls, true), [(2, 0, 1), (2, 1, 1), (4, 2, 1), (5, 0, 2), (5, 1, 2)]);
    }

    #[test]
    fn everything_waits_for_a_sync_and_a_sync_for_its_file() {
        let calls = [
            call(0, 0, 10, Kind::Content, 7),
            call(1, 0, 11, Kind::Content, 8),
            call(2, 12, 20, Kind::Sync, 7),
            call(1, 12, 21, Kind::Content, 8),
            call(3, 22, 23, Kind::Content, 9),
            call(0, 24, 25, Kind::Whole, 1),
        ];
        assert_eq!(found(&calls, false), [(2, 1, 1), (4, 1, 2), (5, 3, 1)]);
        let strict = [(2, 0, 1), (2, 1, 1), (4, 1, 2), (4, 2, 1), (5, 1, 2), (5, 2, 1), (5, 3, 1)];
        assert_eq!(found(&calls, true), strict);
    }

    #[test]
    fn a_call_without_an_end_is_waited_for_by_its_own_stream_only() {
        let calls = [Call { end_ns: None, ..call(0, 0, 0, Kind::Sync, 7) }, call(1, 50, 60, Kind::Life, 7)];
        assert!(found(&calls, true).is_empty());
    }

    #[test]
    fn needs_of_calls_that_are_not_before_are_refused() {
        let need = |stream, count| Need { stream, count };
        let needs = Needs::new(&[0, 1, 0], vec![(2, need(1, 1)), (1, need(0, 1))]).unwrap();
        assert_eq!((needs.of(0), needs.of(1), needs.of(2)), (&[][..], &[need(0, 1)][..], &[need(1, 1)][..]));
        let packed: Vec<u8> = [need(1, 1).pack(2), need(0, 1).pack(1)].concat();
        assert_eq!(Needs::unpack(&packed, &[0, 1, 0]).unwrap().of(2), [need(1, 1)]);
        assert!(Needs::unpack(&packed[1..], &[0, 1, 0]).is_none());
        for wrong in [(1, need(0, 2)), (1, need(1, 1)), (2, need(0, 0)), (2, need(5, 1)), (3, need(0, 1))] {
            assert!(Needs::new(&[0, 1, 0], vec![wrong]).is_none(), "{wrong:?}");
        }
    }
}
