//! The entrance of the fuzzer to the readers of traces.

use crate::formats::{FORMATS, Trace, recognise};

/// Reads bytes as a trace in a format, once whole and once in small parts, and looks for its format. It panics if a reader does, if
/// the two ways to read differ, or if lines got lost.
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
    let feeds = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!(one.line, feeds + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n')));
    recognise(bytes);
}
