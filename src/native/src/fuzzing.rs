//! The entrance of the fuzzer to the readers of traces.

use crate::formats::{FORMATS, Trace, recognise};

/// Reads bytes as a trace in a format, once whole and once in small parts, and looks for its format.
///
/// # Panics
/// If a reader does, if the two ways to read differ, or if lines got lost.
pub fn read(name: &str, bytes: &[u8]) {
    let format = FORMATS.iter().find(|format| format.name == name).expect("there is such a format");
    let (mut whole, mut parted) = (Trace::new(format), Trace::new(format));
    whole.feed(bytes);
    for part in bytes.chunks(1 + bytes.len() % 7) {
        parted.feed(part);
    }
    for trace in [&mut whole, &mut parted] {
        trace.size(b"/a", 4096);
        trace.end();
    }
    let (one, other) = (&whole.output, &parted.output);
    assert_eq!((one.line, &one.skipped, &one.rejects), (other.line, &other.skipped, &other.rejects));
    assert_eq!(one.table.len(), other.table.len());
    let feeds = memchr::memchr_iter(b'\n', bytes).count() as u64;
    assert_eq!(one.line, feeds + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n')));
    recognise(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many changed inputs of each format; `envs/fuzz.py` reads millions.
    const INPUTS: u64 = 400;
    const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds");

    fn next(state: &mut u64, below: usize) -> usize {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        usize::try_from(*state % below.max(1) as u64).expect("it is below a usize")
    }

    /// Changes a few places: another byte, a byte that means something, a missing part, or a part that comes twice.
    fn change(bytes: &mut Vec<u8>, state: &mut u64) {
        for _ in 0..=next(state, 3) {
            let at = next(state, bytes.len());
            let part = at..(at + 1 + next(state, 40)).min(bytes.len());
            match next(state, 4) {
                0 if !bytes.is_empty() => bytes[at] = u8::try_from(next(state, 256)).expect("it is below 256"),
                1 if !bytes.is_empty() => bytes[at] = b"0 9,-.:=()[]<>\"\\\n\t\0\xff"[next(state, 20)],
                2 => drop(bytes.drain(part)),
                _ => bytes.extend_from_within(part),
            }
        }
    }

    #[test]
    fn every_reader_survives_changed_seeds() {
        for seed in std::fs::read_dir(SEEDS).expect("the folder of seeds is there") {
            let path = seed.expect("the folder can be read").path();
            let name = path.file_name().expect("a seed has a name").to_str().expect("names are plain");
            let whole = std::fs::read(&path).expect("a seed can be read");
            for number in 1..=INPUTS {
                let mut bytes = whole.clone();
                change(&mut bytes, &mut number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                read(name, &bytes);
            }
        }
    }
}
