//! The device's own log, with one binary record for each request. A thread of its own writes the log, so that a request never
//! waits for the file.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::model::Request;
use crate::realtime;

pub const RECORD_BYTES: usize = 64;
/// Number of records that the queue holds. The writer is an ordinary thread and may wait for the emulator's real-time threads for
/// most of a second, in which a fast machine takes 200,000 requests. The memory of the records, some 40 MB, is allocated at the
/// start.
const CAPACITY: usize = 1 << 19;
/// Time between two looks of the writer at the queue. The writer does not wait for records, because a sender must wake a receiver
/// that waits, but need not wake one that sleeps. With this period the queue takes 26 million records per second.
const PERIOD: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub seq: u64,
    pub request: Request,
    /// Number of requests in the device when this one was taken, this one included.
    pub inflight: u32,
    /// Completion by the model, in ns.
    pub nominal_ns: u64,
    pub replied_ns: u64,
    /// Number of the setting that was in force.
    pub setting: u32,
}

impl Record {
    fn append_to(&self, bytes: &mut Vec<u8>) {
        let Request { arrival_ns, op, offset, length } = self.request;
        for word in [self.seq, offset, length, arrival_ns, self.nominal_ns, self.replied_ns] {
            bytes.extend(word.to_le_bytes());
        }
        for word in [self.inflight, self.setting, op as u32, 0] {
            bytes.extend(word.to_le_bytes());
        }
    }
}

#[derive(Default)]
struct Counts {
    appended: AtomicU64,
    written: AtomicU64,
    /// Number of records that the queue or the file refused, as far as that is known while the writer runs.
    lost: AtomicU64,
    closing: AtomicBool,
}

pub struct Log {
    sender: SyncSender<Record>,
    counts: Arc<Counts>,
    writer: Option<JoinHandle<()>>,
}

impl Log {
    /// Creates the log's file and starts its writer. If `path` is `None`, no log is kept, and records are neither written nor
    /// lost.
    pub fn create(path: Option<&Path>) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(if path.is_some() { CAPACITY } else { 0 });
        let counts = Arc::new(Counts::default());
        let writer = path.map(|path| {
            let (file, counts) = (File::create(path)?, Arc::clone(&counts));
            thread::Builder::new().name("device-log".into()).spawn(move || write_all(file, &receiver, &counts))
        });
        Ok(Self { sender, counts, writer: writer.transpose()? })
    }

    /// Appends a record without waiting. A record that does not fit into the queue, or that comes after `close`, is counted as
    /// lost.
    pub fn append(&self, record: Record) {
        if self.writer.is_none() {
            return;
        }
        self.counts.appended.fetch_add(1, Ordering::Relaxed);
        if self.counts.closing.load(Ordering::Relaxed) || self.sender.try_send(record).is_err() {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes the records that were appended before and ends the file. Returns when the file is complete.
    pub fn close(&self) {
        self.counts.closing.store(true, Ordering::SeqCst);
        while self.writer.is_some() && !self.has_ended() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the number of records that are in the file.
    pub fn written(&self) -> u64 {
        self.counts.written.load(Ordering::Relaxed)
    }

    /// Returns the number of requests that were answered without a record. After the writer has ended, this counts all records
    /// that it did not write, including one that was sent after its last look at the queue.
    pub fn lost(&self) -> u64 {
        let counts = &self.counts;
        if self.has_ended() {
            let written = self.written();
            return counts.appended.load(Ordering::Relaxed).saturating_sub(written);
        }
        counts.lost.load(Ordering::Relaxed)
    }

    fn has_ended(&self) -> bool {
        self.writer.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

fn write_all(mut file: impl Write, receiver: &Receiver<Record>, counts: &Counts) {
    realtime::give_up();
    let mut bytes = Vec::with_capacity(CAPACITY * RECORD_BYTES);
    let mut is_writable = true;
    loop {
        let closing = counts.closing.load(Ordering::SeqCst);
        receiver.try_iter().take(CAPACITY).for_each(|record| record.append_to(&mut bytes));
        let records = (bytes.len() / RECORD_BYTES) as u64;
        // After an error the file may end within a record, and a reader would misread all that follows.
        is_writable = is_writable && file.write_all(&bytes).is_ok();
        let counter = if is_writable { &counts.written } else { &counts.lost };
        counter.fetch_add(records, Ordering::Relaxed);
        if closing && records == 0 {
            return;
        }
        bytes.clear();
        if !closing {
            thread::sleep(PERIOD);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Op;

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn record(seq: u64) -> Record {
        let request = Request { arrival_ns: 1, op: Op::Flush, offset: 4096 * seq, length: 512 };
        Record { seq, request, inflight: 4, nominal_ns: 2, replied_ns: 3, setting: 5 }
    }

    #[test]
    fn every_record_is_in_the_file_in_its_layout() {
        let path = std::env::temp_dir().join(format!("tickdisk-log-{}", std::process::id()));
        let log = Log::create(Some(&path)).unwrap();
        (0..1000).for_each(|seq| log.append(record(seq)));
        log.close();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((bytes.len(), log.written(), log.lost()), (1000 * RECORD_BYTES, 1000, 0));
        let words: Vec<u64> =
            bytes[999 * RECORD_BYTES..].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, [999, 999 * 4096, 512, 1, 2, 3, 4 | 5 << 32, 2]);
    }

    #[test]
    fn what_is_not_written_is_counted() {
        let path = std::env::temp_dir().join(format!("tickdisk-lost-{}", std::process::id()));
        let log = Log::create(Some(&path)).unwrap();
        log.close();
        log.append(record(0));
        std::fs::remove_file(&path).unwrap();
        assert_eq!((log.written(), log.lost()), (0, 1));
        // The count rises as it does for a record that comes between the writer's last look at the queue and its end.
        log.counts.appended.fetch_add(1, Ordering::Relaxed);
        assert_eq!((log.written(), log.lost()), (0, 2));

        let (sender, receiver) = sync_channel(8);
        let counts = Counts { closing: true.into(), ..Counts::default() };
        (0..3).for_each(|seq| sender.send(record(seq)).unwrap());
        write_all(Full, &receiver, &counts);
        assert_eq!((counts.written.into_inner(), counts.lost.into_inner()), (0, 3));
    }

    #[test]
    fn without_a_file_nothing_is_lost() {
        let log = Log::create(None).unwrap();
        log.append(record(0));
        assert_eq!((log.written(), log.lost()), (0, 0));
    }
}
