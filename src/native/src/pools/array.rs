//! Spreads the bytes of a pool over devices: stripes, copies, and RAID with one or two parities.

use crate::model::Op;

/// The way in which chunks are spread over devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Chunks go to the devices in turn, and each is kept this many times. One copy is a stripe without redundancy.
    Copies(u64),
    /// Chunks go to the devices in turn, and each row of them has this many parities, whose places move from row to row.
    Parities(u64),
}

/// Devices with a layout.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    pub devices: u64,
    pub chunk_bytes: u64,
    pub layout: Layout,
}

/// A request to one device of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberOp {
    pub device: usize,
    pub op: Op,
    pub offset: u64,
    pub length: u64,
}

/// A part of a request that lies in one chunk.
#[derive(Clone, Copy)]
struct Piece {
    row: u64,
    /// Place of the chunk among the data of its row.
    place: u64,
    inside: u64,
    length: u64,
}

impl Array {
    /// Returns the number of data chunks of a row.
    fn data(&self) -> u64 {
        match self.layout {
            Layout::Copies(copies) => self.devices / copies,
            Layout::Parities(parities) => self.devices - parities,
        }
    }

    /// Returns the offset on a device of a place in a row.
    fn offset(&self, row: u64, inside: u64) -> u64 {
        row * self.chunk_bytes + inside
    }

    fn pieces(&self, offset: u64, length: u64) -> impl Iterator<Item = Piece> {
        let (array, end) = (*self, offset + length);
        let mut at = offset;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (chunk, inside) = (at / array.chunk_bytes, at % array.chunk_bytes);
            let length = (array.chunk_bytes - inside).min(end - at);
            at += length;
            Some(Piece { row: chunk / array.data(), place: chunk % array.data(), inside, length })
        })
    }

    /// Returns the device of the data chunk at a place of a row. Parities are on the devices that follow, and move by one device
    /// from row to row.
    fn device(&self, row: u64, place: u64) -> usize {
        let number = match self.layout {
            Layout::Copies(copies) => place * copies,
            Layout::Parities(parities) => (place + parities + row) % self.devices,
        };
        usize::try_from(number).expect("an array has few devices")
    }

    fn parity(&self, row: u64, number: u64) -> usize {
        usize::try_from((number + row) % self.devices).expect("an array has few devices")
    }

    /// Adds the requests to devices by which bytes are read. The `turn` chooses among copies.
    pub fn read(&self, offset: u64, length: u64, turn: u64, ops: &mut Vec<MemberOp>) {
        for piece in self.pieces(offset, length) {
            let copy = match self.layout {
                Layout::Copies(copies) => usize::try_from(turn % copies).expect("an array has few devices"),
                Layout::Parities(_) => 0,
            };
            ops.push(MemberOp {
                device: self.device(piece.row, piece.place) + copy,
                op: Op::Read,
                offset: self.offset(piece.row, piece.inside),
                length: piece.length,
            });
        }
    }

    /// Adds the requests to devices by which bytes are written: the reads of old data and old parities that have to be done
    /// first, and the writes. A row that is written as a whole needs no read.
    pub fn write(&self, offset: u64, length: u64, first: &mut Vec<MemberOp>, then: &mut Vec<MemberOp>) {
        let Layout::Parities(parities) = self.layout else {
            let Layout::Copies(copies) = self.layout else { return };
            for piece in self.pieces(offset, length) {
                for copy in 0..usize::try_from(copies).expect("an array has few devices") {
                    then.push(MemberOp {
                        device: self.device(piece.row, piece.place) + copy,
                        op: Op::Write,
                        offset: self.offset(piece.row, piece.inside),
                        length: piece.length,
                    });
                }
            }
            return;
        };
        let mut pieces = self.pieces(offset, length).peekable();
        while let Some(piece) = pieces.next() {
            let row = piece.row;
            let mut own = vec![piece];
            while let Some(next) = pieces.next_if(|next| next.row == row) {
                own.push(next);
            }
            let low = own.iter().map(|piece| piece.inside).min().unwrap_or(0);
            let high = own.iter().map(|piece| piece.inside + piece.length).max().unwrap_or(0);
            let is_whole = own.iter().map(|piece| piece.length).sum::<u64>() == self.data() * self.chunk_bytes;
            let data = own.iter().map(|piece| MemberOp {
                device: self.device(row, piece.place),
                op: Op::Write,
                offset: self.offset(row, piece.inside),
                length: piece.length,
            });
            let parity = (0..parities).map(|number| MemberOp {
                device: self.parity(row, number),
                op: Op::Write,
                offset: self.offset(row, low),
                length: high - low,
            });
            for write in data.chain(parity) {
                if !is_whole {
                    first.push(MemberOp { op: Op::Read, ..write });
                }
                then.push(write);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    fn array(devices: u64, layout: Layout) -> Array {
        Array { devices, chunk_bytes: 64 * KIB, layout }
    }

    fn written(array: &Array, offset: u64, length: u64) -> (Vec<MemberOp>, Vec<MemberOp>) {
        let (mut first, mut then) = (Vec::new(), Vec::new());
        array.write(offset, length, &mut first, &mut then);
        (first, then)
    }

    #[test]
    fn a_small_write_to_raid_reads_and_writes_data_and_parities() {
        for (parities, devices) in [(1, 5), (2, 10)] {
            let (first, then) = written(&array(devices, Layout::Parities(parities)), 4096, 4096);
            assert_eq!((first.len() as u64, then.len() as u64), (1 + parities, 1 + parities));
            let mut used: Vec<_> = then.iter().map(|op| op.device).collect();
            used.sort_unstable();
            used.dedup();
            assert_eq!(used.len() as u64, 1 + parities);
            assert!(first.iter().all(|op| op.length == 4096 && op.op == Op::Read));
        }
    }

    #[test]
    fn a_whole_row_is_written_without_reads() {
        let raid = array(10, Layout::Parities(2));
        let (first, then) = written(&raid, 3 * 8 * 64 * KIB, 8 * 64 * KIB);
        assert!(first.is_empty());
        assert_eq!(then.len(), 10);
        let mut used: Vec<_> = then.iter().map(|op| op.device).collect();
        used.sort_unstable();
        assert_eq!(used, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn parities_move_from_row_to_row_and_data_fill_the_rest() {
        let raid = array(4, Layout::Parities(1));
        for row in 0..9 {
            let mut used: Vec<_> = (0..3).map(|place| raid.device(row, place)).chain([raid.parity(row, 0)]).collect();
            used.sort_unstable();
            assert_eq!(used, [0, 1, 2, 3]);
        }
        assert_eq!((0..4).map(|row| raid.parity(row, 0)).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn copies_are_written_to_all_and_read_from_one() {
        let mirror = array(4, Layout::Copies(2));
        let (first, then) = written(&mirror, 64 * KIB, 4096);
        assert!(first.is_empty());
        assert_eq!(then.iter().map(|op| op.device).collect::<Vec<_>>(), [2, 3]);
        let mut ops = Vec::new();
        mirror.read(64 * KIB, 4096, 0, &mut ops);
        mirror.read(64 * KIB, 4096, 1, &mut ops);
        assert_eq!(ops.iter().map(|op| op.device).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn a_request_is_split_at_chunks() {
        let stripe = array(3, Layout::Copies(1));
        let mut ops = Vec::new();
        stripe.read(60 * KIB, 72 * KIB, 0, &mut ops);
        let split: Vec<_> = ops.iter().map(|op| (op.device, op.offset, op.length)).collect();
        assert_eq!(split, [(0, 60 * KIB, 4 * KIB), (1, 0, 64 * KIB), (2, 0, 4 * KIB)]);
    }
}
