//! The requests of a replay and their outcomes, in the binary form in which Python packs and unpacks them.

use std::ffi::c_int;

pub const REQUEST_BYTES: usize = 48;
pub const OUTCOME_BYTES: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// An open that creates the file if it does not exist.
    Open,
    /// An open that failed in the capture. It creates no file.
    TryOpen,
    Close,
    Read,
    Write,
    Sync,
    DataSync,
    SyncAll,
    Truncate,
    Rename,
    Unlink,
    /// An open that truncates the file to 0 bytes.
    OpenEmpty,
    /// An open of a file without a name (`O_TMPFILE`).
    OpenUnnamed,
    Link,
    Symlink,
    MakeFolder,
    RemoveFolder,
    Allocate,
    /// A copy from one file to another (`copy_file_range`).
    Copy,
    /// The half of a copy that another request makes.
    Half,
}

impl Op {
    pub const ALL: [Self; 20] = [
        Self::Open,
        Self::TryOpen,
        Self::Close,
        Self::Read,
        Self::Write,
        Self::Sync,
        Self::DataSync,
        Self::SyncAll,
        Self::Truncate,
        Self::Rename,
        Self::Unlink,
        Self::OpenEmpty,
        Self::OpenUnnamed,
        Self::Link,
        Self::Symlink,
        Self::MakeFolder,
        Self::RemoveFolder,
        Self::Allocate,
        Self::Copy,
        Self::Half,
    ];
}

/// How a read or a write asks to be stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storing {
    /// Whether the request passes by the page cache.
    pub is_direct: bool,
    /// The flag of a write that waits for the device, `RWF_DSYNC` or `RWF_SYNC`, or 0. It does what `O_DSYNC` and `O_SYNC` do.
    pub waits: c_int,
}

impl Storing {
    const DIRECT: u32 = 1;
    const DATA: u32 = 2;
    const WHOLE: u32 = 4;

    fn parse(bits: u32) -> Self {
        let waits = if bits & Self::WHOLE != 0 { libc::RWF_SYNC } else { libc::RWF_DSYNC };
        Self { is_direct: bits & Self::DIRECT != 0, waits: if bits & (Self::DATA | Self::WHOLE) == 0 { 0 } else { waits } }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Time at which the request is due, counted from the start of the replay.
    pub due_ns: u64,
    pub offset: u64,
    pub length: u64,
    pub stream: u32,
    pub op: Op,
    pub storing: Storing,
    /// Flags of a rename or the mode of an allocation.
    pub flags: u32,
    /// Position of the file in the list of files.
    pub file: u32,
    /// The new name of a rename or a link, the target of a symbolic link, or the file from which a copy is made, as a position in
    /// the list of files.
    pub other: u32,
    /// Offset in `other` from which a copy is made.
    pub from: u64,
}

impl Request {
    /// Parses a record of three words of 8 bytes, four words of 4 bytes and one of 8 bytes, all little-endian. The second short
    /// word has the operation in its low byte, and above it how it is stored or its flags. Returns `None` if the operation is
    /// unknown.
    pub fn parse(bytes: &[u8; REQUEST_BYTES]) -> Option<Self> {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let (op, flags) = (*Op::ALL.get((short(28) & 0xff) as usize)?, short(28) >> 8);
        let (due_ns, offset, length, from) = (long(0), long(8), long(16), long(40));
        let storing = if matches!(op, Op::Read | Op::Write) { Storing::parse(flags) } else { Storing::default() };
        Some(Self { due_ns, offset, length, stream: short(24), op, storing, flags, file: short(32), other: short(36), from })
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub issued_ns: u64,
    pub completed_ns: u64,
    /// Result of the system call, or the negative errno. It is 0 for an open that succeeded.
    pub result: i64,
}

impl Outcome {
    /// Appends the packed outcome, three little-endian words of 8 bytes.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.issued_ns.to_le_bytes());
        bytes.extend(self.completed_ns.to_le_bytes());
        bytes.extend(self.result.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed_as_they_are_packed() {
        let words: [u64; 3] = [1, 2, 3];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend([4u32, 10, 5, 6].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(7u64.to_le_bytes());
        let parse = |bytes: &[u8]| Request::parse(bytes.try_into().unwrap());
        let found = parse(&bytes).unwrap();
        assert_eq!((found.due_ns, found.offset, found.length), (1, 2, 3));
        assert_eq!((found.stream, found.op, found.file, found.other), (4, Op::Unlink, 5, 6));
        assert_eq!((found.storing, found.from), (Storing::default(), 7));
        bytes[29] = 3;
        assert_eq!((parse(&bytes).unwrap().storing, parse(&bytes).unwrap().flags), (Storing::default(), 3));
        bytes[28] = 4;
        assert_eq!(parse(&bytes).unwrap().storing, Storing { is_direct: true, waits: libc::RWF_DSYNC });
        bytes[28] = 20;
        assert!(parse(&bytes).is_none());
    }
}
