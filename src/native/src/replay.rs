//! Makes requests again at the times at which they were made before, or after the requests that they need. Each stream has a thread
//! of its own, which keeps to absolute times.

mod file;
mod progress;
mod request;

use std::ffi::c_int;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::clock::now_ns;
use crate::order::Needs;
use crate::realtime;
pub use crate::replay::file::File;
use crate::replay::progress::Progress;
use crate::replay::request::Op;
#[cfg(feature = "python")]
pub use crate::replay::request::{OUTCOME_BYTES, REQUEST_BYTES};
pub use crate::replay::request::{Outcome, Request};

/// Number of places in the noise, the random bytes that writes take as their content, at which payloads start. The payload of
/// request i starts at byte i modulo this number.
pub const SHIFTS: usize = 4096;
/// A sleep ends this many ns before a request is due, and the stream spins for the rest. An idle core takes 20 to 50 us to wake.
/// With a spin of 20 us half of the requests were 7 us late, and with 50 us one in a hundred was 20 us late.
const SPIN_NS: u64 = 50_000;
/// Alignment in bytes of the memory of direct requests, which no block device wants larger.
const ALIGNMENT: usize = 4096;
/// Length in bytes of the memory that a longer read or write uses several times, unless it passes by the page cache.
const LONGEST_PART: u64 = 16 << 20;
/// Longest time that a sleeping stream takes to see that it is to stop, in ns.
const LOOK_NS: u64 = 100_000_000;
const READY_LOOK: Duration = Duration::from_millis(1);

/// The requests of a replay, and all that they need.
pub struct Work {
    pub files: Vec<File>,
    /// Bytes that writes take as their content.
    pub noise: Vec<u8>,
    pub requests: Vec<Request>,
    /// The requests of other streams that each request waits for.
    pub needs: Needs,
    /// Whether the due time of a request counts from the moment at which it has nothing more to wait for. Otherwise it counts from
    /// the start.
    pub is_closed: bool,
}

struct Shared {
    work: Work,
    /// How far each stream has come.
    progress: Vec<Progress>,
    /// Start of the schedule, in ns of `CLOCK_MONOTONIC`. It is 0 until all streams are ready.
    start_ns: AtomicU64,
    stopped: AtomicBool,
}

impl Shared {
    /// Waits until the start of the schedule is known, and returns it. Returns `None` if the replay is to stop.
    fn wait_for_start(&self) -> Option<u64> {
        while !self.stopped.load(Ordering::Relaxed) {
            match self.start_ns.load(Ordering::Relaxed) {
                0 => thread::sleep(READY_LOOK),
                start_ns => return Some(start_ns),
            }
        }
        None
    }

    /// Waits until `due_ns` and returns the time. Returns `None` if the replay is to stop.
    fn wait_until(&self, due_ns: u64) -> Option<u64> {
        loop {
            let now = now_ns();
            if now >= due_ns {
                return Some(now);
            }
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            if due_ns - now > SPIN_NS {
                sleep_until((due_ns - SPIN_NS).min(now + LOOK_NS));
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Waits until a request can be issued, and returns the time. `before_ns` is the time at which its stream was ready for it.
    /// Returns `None` if the replay is to stop.
    fn wait_for_turn(&self, index: usize, start_ns: u64, before_ns: u64) -> Option<u64> {
        let mut ready_ns = before_ns;
        for need in self.work.needs.of(index) {
            ready_ns = ready_ns.max(self.progress[need.stream as usize].wait(need.count, &self.stopped)?);
        }
        let origin_ns = if self.work.is_closed { ready_ns } else { start_ns };
        self.wait_until(origin_ns + self.work.requests[index].due_ns)
    }

    /// Puts the content of a direct write into `buffer`, because its memory must be aligned.
    fn fill(&self, index: usize, buffer: &mut [u8]) {
        let request = &self.work.requests[index];
        if let (Op::Write, true, Ok(length)) = (request.op, request.storing.is_direct, usize::try_from(request.length)) {
            buffer[..length].copy_from_slice(&self.work.noise[index % SHIFTS..][..length]);
        }
    }

    fn make(&self, index: usize, buffer: &mut [u8]) -> i64 {
        let Work { files, noise, requests, .. } = &self.work;
        let request = &requests[index];
        let file = &files[request.file as usize];
        let (Ok(length), Ok(offset)) = (usize::try_from(request.length), i64::try_from(request.offset)) else {
            return -i64::from(libc::EOVERFLOW);
        };
        // SAFETY (of all calls): `with_handle` holds the descriptors open. No part is longer than the memory behind its start, because
        // `noise` has `SHIFTS` bytes more than a part.
        let other = &files[request.other as usize];
        match request.op {
            Op::Open => file.open(),
            Op::OpenUnnamed => file.open_unnamed(),
            Op::OpenEmpty => file.open_empty(),
            Op::TryOpen => file.try_open(),
            Op::Close => file.close(),
            Op::Read => {
                let parts = parts(buffer.as_mut_ptr(), buffer.len(), length);
                let read = |fd| unsafe { libc::preadv(fd, parts.as_ptr(), count(&parts), offset) } as i64;
                if request.storing.is_direct { file.with_direct_handle(read) } else { file.with_handle(read) }
            }
            Op::Write => {
                let payload = if request.storing.is_direct { buffer.as_ptr() } else { noise[index % SHIFTS..].as_ptr() };
                let size = if request.storing.is_direct { buffer.len() } else { noise.len() - SHIFTS };
                let parts = parts(payload.cast_mut(), size, length);
                let write =
                    |fd| unsafe { libc::pwritev2(fd, parts.as_ptr(), count(&parts), offset, request.storing.waits) } as i64;
                if request.storing.is_direct { file.with_direct_handle(write) } else { file.with_handle(write) }
            }
            Op::Sync => file.with_handle(|fd| unsafe { libc::fsync(fd) }),
            Op::DataSync => file.with_handle(|fd| unsafe { libc::fdatasync(fd) }),
            Op::SyncAll => file.with_handle(|fd| unsafe { libc::syncfs(fd) }),
            Op::Truncate => i64::try_from(request.length)
                .map_or(-i64::from(libc::EFBIG), |size| file.with_handle(|fd| unsafe { libc::ftruncate(fd, size) })),
            Op::Rename => file.rename(other, request.flags),
            Op::Unlink => file.unlink(),
            Op::Link => file.link(other),
            Op::Symlink => file.make_symlink(other),
            Op::MakeFolder => file.make_folder(),
            Op::RemoveFolder => file.remove_folder(),
            Op::Allocate => i64::try_from(request.length).map_or(-i64::from(libc::EFBIG), |size| {
                file.with_handle(|fd| unsafe { libc::fallocate(fd, request.flags.cast_signed(), offset, size) })
            }),
            Op::Copy => file.with_handle(|to| copy(other, request.from, to, offset, length)),
            Op::Half => i64::try_from(length).unwrap_or(i64::MAX),
        }
    }
}

/// Returns parts of `length` bytes together, each of which is the same memory of `size` bytes or its beginning. A copy of a large
/// file by one call is a read or a write of up to 2 GiB.
fn parts(memory: *mut u8, size: usize, length: usize) -> Vec<libc::iovec> {
    let part = |at: usize| libc::iovec { iov_base: memory.cast(), iov_len: size.min(length - at) };
    (0..length.max(1)).step_by(size.max(1)).map(part).collect()
}

fn count(parts: &[libc::iovec]) -> c_int {
    c_int::try_from(parts.len()).unwrap_or(c_int::MAX)
}

/// Copies `length` bytes from the byte `from` of a file to the byte `to` of another, and returns how many were copied, or the
/// negative errno.
fn copy(source: &File, from: u64, fd: c_int, to: i64, length: usize) -> i64 {
    let Ok(mut from) = i64::try_from(from) else { return -i64::from(libc::EOVERFLOW) };
    let (mut to, mut copied) = (to, 0);
    while copied < length {
        // SAFETY: the offsets outlive the call, and `with_handle` holds the descriptors open.
        let part = source.with_handle(|source| unsafe {
            libc::copy_file_range(source, &raw mut from, fd, &raw mut to, length - copied, 0) as i64
        });
        match usize::try_from(part) {
            Ok(0) => break,
            Ok(part) => copied += part,
            Err(_) if copied > 0 => break,
            Err(_) => return part,
        }
    }
    i64::try_from(copied).unwrap_or(i64::MAX)
}

fn sleep_until(at_ns: u64) {
    let time = libc::timespec { tv_sec: (at_ns / 1_000_000_000).cast_signed(), tv_nsec: (at_ns % 1_000_000_000).cast_signed() };
    // SAFETY: `time` outlives the call. If a signal interrupts the sleep, the caller sleeps again.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const time, std::ptr::null_mut()) };
}

/// The requests of one stream, as positions among all requests of the replay.
type Stream = Vec<usize>;
type Outcomes = Vec<(usize, Outcome)>;

/// Gives the calling thread a precise timer and real-time priority, so that it wakes on time and runs before all ordinary
/// threads. Returns whether the priority was allowed.
///
/// Beside busy processes on two cores, the 99.9th percentile of the lag is some 0.1 ms with this priority, and 2 to 8 ms without
/// it.
fn hasten() -> bool {
    // SAFETY: the call changes the calling thread only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    realtime::take()
}

fn run(shared: &Shared, number: usize, stream: &Stream, ready: &Sender<bool>) -> Outcomes {
    let is_real_time = hasten();
    let requests = stream.iter().map(|&index| &shared.work.requests[index]);
    let buffered = requests.filter(|request| request.op == Op::Read || request.storing.is_direct);
    let most = |request: &Request| request.length.min(if request.storing.is_direct { u64::MAX } else { LONGEST_PART });
    let longest = buffered.map(most).max().unwrap_or(0);
    // The bytes are not zero, so that every page is there before the first request.
    let mut memory = vec![1; usize::try_from(longest).unwrap_or(0) + ALIGNMENT];
    let aligned = memory.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut memory[aligned..];
    let untouched = Outcome { issued_ns: 1, ..Outcome::default() };
    let mut outcomes: Outcomes = stream.iter().map(|index| (*index, untouched)).collect();
    let _ = ready.send(is_real_time);
    let Some(start_ns) = shared.wait_for_start() else { return outcomes };
    let mut before_ns = start_ns;
    for (index, outcome) in &mut outcomes {
        shared.fill(*index, buffer);
        let Some(issued_ns) = shared.wait_for_turn(*index, start_ns, before_ns) else { break };
        let result = shared.make(*index, buffer);
        before_ns = now_ns();
        *outcome = Outcome { issued_ns, completed_ns: before_ns, result };
        shared.progress[number].complete(before_ns);
    }
    outcomes
}

/// The streams of a running replay. Dropping it stops them.
pub struct Replay {
    shared: Arc<Shared>,
    streams: Vec<JoinHandle<Outcomes>>,
    /// Each stream sends, when it is ready, whether it has real-time priority. The channel is closed when the last stream has
    /// ended.
    under_way: Receiver<bool>,
    /// Start of the schedule, in ns of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// Whether memory could be locked.
    pub is_locked: bool,
    /// Whether all streams were given real-time priority.
    pub is_real_time: bool,
}

impl Replay {
    /// Starts the streams. The schedule begins `lead_ns` after all of them are ready. Fails if a request names an unknown file or
    /// writes more bytes than there is noise.
    pub fn start(work: Work, lead_ns: u64) -> io::Result<Self> {
        let known = |position: u32| (position as usize) < work.files.len();
        let fits = |request: &Request| {
            let most = if request.storing.is_direct { u64::MAX } else { LONGEST_PART };
            let length = usize::try_from(request.length.min(most)).unwrap_or(usize::MAX);
            let is_covered = request.op != Op::Write || work.noise.len() >= length.saturating_add(SHIFTS);
            is_covered && known(request.file) && known(request.other)
        };
        if !work.requests.iter().all(fits) {
            return Err(io::Error::other("a request names a file that is not listed, or writes more bytes than there is noise"));
        }
        let count = work.requests.iter().map(|request| request.stream as usize + 1).max().unwrap_or(0);
        let mut streams: Vec<Stream> = vec![Vec::new(); count];
        for (index, request) in work.requests.iter().enumerate() {
            streams[request.stream as usize].push(index);
        }
        let progress = streams.iter().map(|stream| Progress::of(stream.len())).collect();
        // SAFETY: no pointers are involved. Pages are locked when they are touched, so that the whole of the interpreter is not
        // read in.
        let is_locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) } == 0;
        let shared = Arc::new(Shared { work, progress, start_ns: AtomicU64::new(0), stopped: AtomicBool::new(false) });
        let (sender, under_way) = channel();
        let mut replay =
            Self { shared, streams: Vec::with_capacity(count), under_way, start_ns: 0, is_locked, is_real_time: true };
        for (number, stream) in streams.into_iter().enumerate() {
            replay.streams.push(replay.spawn(number, stream, sender.clone())?);
        }
        drop(sender);
        for _ in 0..count {
            replay.is_real_time &= replay.under_way.recv().expect("a stream is ready before it ends");
        }
        replay.start_ns = now_ns() + lead_ns;
        replay.shared.start_ns.store(replay.start_ns, Ordering::Relaxed);
        Ok(replay)
    }

    fn spawn(&self, number: usize, stream: Stream, ready: Sender<bool>) -> io::Result<JoinHandle<Outcomes>> {
        let shared = Arc::clone(&self.shared);
        thread::Builder::new().name(format!("replay-{number}")).spawn(move || run(&shared, number, &stream, &ready))
    }

    /// Waits for at most `limit`, and returns whether all streams have ended.
    pub fn wait(&mut self, limit: Duration) -> bool {
        matches!(self.under_way.recv_timeout(limit), Err(RecvTimeoutError::Disconnected))
    }

    /// Waits for the streams to end, and returns the outcomes in the order of the requests.
    pub fn finish(mut self) -> Vec<Outcome> {
        let outcomes: Vec<Outcomes> =
            self.streams.drain(..).map(|stream| stream.join().expect("a stream does not panic")).collect();
        let mut all = vec![Outcome::default(); outcomes.iter().map(Vec::len).sum()];
        outcomes.into_iter().flatten().for_each(|(index, outcome)| all[index] = outcome);
        all
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        for stream in self.streams.drain(..) {
            let _ = stream.join();
        }
        if self.is_locked {
            // SAFETY: no pointers are involved.
            unsafe { libc::munlockall() };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::order::Need;
    use crate::replay::request::Storing;

    struct Folder(PathBuf);
    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("tickdisk-replay-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
        fn file(&self, name: &str, handles: usize) -> File {
            File::new(c_string(&self.0.join(name)), false, handles).unwrap()
        }
    }
    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn c_string(path: &Path) -> CString {
        CString::new(path.as_os_str().as_bytes()).unwrap()
    }

    fn request(stream: u32, due_ns: u64, op: Op, file: u32, offset: u64, length: u64) -> Request {
        Request { due_ns, offset, length, stream, op, storing: Storing::default(), flags: 0, file, other: 1, from: 0 }
    }

    fn work(files: Vec<File>, requests: &[Request]) -> Work {
        let noise = (0..2 * SHIFTS).map(|at| u8::try_from(at % 251).unwrap()).collect();
        Work { files, noise, requests: requests.to_vec(), needs: Needs::default(), is_closed: false }
    }

    fn outcomes(work: Work) -> (u64, Vec<Outcome>) {
        let mut replay = Replay::start(work, 1_000_000).unwrap();
        let start_ns = replay.start_ns;
        while !replay.wait(Duration::from_millis(50)) {}
        (start_ns, replay.finish())
    }

    #[test]
    fn a_stream_makes_its_requests_in_order_and_never_early() {
        let folder = Folder::new("order");
        fs::write(folder.0.join("full"), b"tick").unwrap();
        let requests = [
            request(0, 0, Op::TryOpen, 0, 0, 0),
            request(0, 1_000_000, Op::Open, 0, 0, 0),
            request(1, 1_500_000, Op::Unlink, 1, 0, 0),
            request(0, 2_000_000, Op::Write, 0, 100, 50),
            request(0, 2_000_001, Op::Sync, 0, 0, 0),
            request(0, 2_000_002, Op::Read, 0, 120, 100),
            request(0, 3_000_000, Op::Truncate, 0, 0, 10),
            request(0, 3_000_000, Op::DataSync, 0, 0, 0),
            request(0, 3_000_000, Op::OpenEmpty, 2, 0, 0),
            request(0, 3_000_000, Op::SyncAll, 0, 0, 0),
            request(0, 4_000_000, Op::Close, 0, 0, 0),
            request(0, 4_000_000, Op::Close, 0, 0, 0),
            request(0, 5_000_000, Op::Rename, 0, 0, 0),
        ];
        let (start_ns, made) = outcomes(work(vec![folder.file("a", 0), folder.file("b", 0), folder.file("full", 0)], &requests));
        let results: Vec<i64> = made.iter().map(|outcome| outcome.result).collect();
        let (missing, closed) = (-i64::from(libc::ENOENT), -i64::from(libc::EBADF));
        assert_eq!(results, [missing, 0, missing, 50, 0, 30, 0, 0, 0, 0, 0, closed, 0]);
        assert!(fs::read(folder.0.join("full")).unwrap().is_empty());
        assert_eq!(fs::read(folder.0.join("b")).unwrap(), [0; 10]);
        for (request, outcome) in requests.iter().zip(&made) {
            assert!(outcome.issued_ns >= start_ns + request.due_ns && outcome.completed_ns >= outcome.issued_ns);
        }
        let own: Vec<_> = made.iter().enumerate().filter(|(index, _)| *index != 2).map(|(_, outcome)| outcome).collect();
        assert!(own.windows(2).all(|pair| pair[1].issued_ns >= pair[0].completed_ns));
    }

    #[test]
    fn a_stream_waits_for_what_it_needs() {
        let folder = Folder::new("needs");
        let requests = [
            request(0, 20_000_000, Op::Open, 0, 0, 0),
            request(1, 0, Op::Read, 0, 0, 8),
            request(0, 1_000_000, Op::Write, 0, 0, 8),
            request(1, 5_000_000, Op::Read, 0, 0, 8),
        ];
        let after = |stream, count| Need { stream, count };
        for is_closed in [false, true] {
            let needs = Needs::new(&[0, 1, 0, 1], vec![(1, after(0, 1)), (3, after(0, 2))]).unwrap();
            let files = vec![folder.file("a", 0), folder.file("b", 0)];
            let (start_ns, made) = outcomes(Work { needs, is_closed, ..work(files, &requests) });
            // The first read may come before or after the write.
            assert_eq!([0, 2, 3].map(|request: usize| made[request].result), [0, 8, 8]);
            let gap_ns = if is_closed { 5_000_000 } else { 0 };
            assert!(made[0].issued_ns >= start_ns + 20_000_000);
            assert!(made[1].issued_ns >= made[0].completed_ns);
            assert!(made[3].issued_ns >= made[1].completed_ns.max(made[2].completed_ns) + gap_ns);
            fs::remove_file(folder.0.join("a")).unwrap();
        }
    }

    #[test]
    fn a_write_carries_its_own_part_of_the_noise() {
        let folder = Folder::new("noise");
        let mut requests = vec![request(0, 0, Op::Open, 0, 0, 0); 6];
        requests.push(request(0, 0, Op::Write, 0, 3, 4));
        outcomes(work(vec![folder.file("a", 0), folder.file("b", 0)], &requests));
        assert_eq!(fs::read(folder.0.join("a")).unwrap(), [0, 0, 0, 6, 7, 8, 9]);
    }

    #[test]
    fn what_asks_to_be_stored_is_written_so() {
        let folder = Folder::new("storing");
        let how = |is_direct, waits| Storing { is_direct, waits };
        let write = |offset, storing| Request { storing, ..request(0, 0, Op::Write, 0, offset, 4096) };
        let requests = [
            request(0, 0, Op::Open, 0, 0, 0),
            write(0, how(false, libc::RWF_DSYNC)),
            write(4096, how(true, libc::RWF_SYNC)),
            Request { storing: how(true, 0), ..request(0, 0, Op::Read, 0, 0, 4096) },
            write(100, how(true, 0)),
        ];
        let (_, made) = outcomes(work(vec![folder.file("a", 0), folder.file("b", 0)], &requests));
        let results = made.iter().map(|outcome| outcome.result).collect::<Vec<_>>();
        // Where a file system takes no direct requests, each of them fails.
        assert!(results == [0, 4096, 4096, 4096, -22] || results == [0, 4096, -22, -22, -22], "{results:?}");
        let content = fs::read(folder.0.join("a")).unwrap();
        assert_eq!(content[..4096], (1..4097).map(|at| u8::try_from(at % 251).unwrap()).collect::<Vec<_>>()[..]);
    }

    #[test]
    fn a_handle_that_was_open_before_is_opened_before() {
        let folder = Folder::new("before");
        fs::write(folder.0.join("a"), b"tick").unwrap();
        let files = vec![folder.file("a", 1), folder.file("b", 0)];
        fs::remove_file(folder.0.join("a")).unwrap();
        let (_, made) = outcomes(work(files, &[request(0, 0, Op::Read, 0, 1, 8), request(0, 0, Op::Close, 0, 0, 0)]));
        assert_eq!(made.iter().map(|outcome| outcome.result).collect::<Vec<_>>(), [3, 0]);
        assert!(File::new(c_string(&folder.0.join("none")), false, 1).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused_and_what_is_dropped_stops() {
        let folder = Folder::new("refused");
        let long = request(0, 0, Op::Write, 0, 0, 2 * SHIFTS as u64);
        let other = request(0, 0, Op::Close, 2, 0, 0);
        for wrong in [long, other] {
            let files = vec![folder.file("a", 0), folder.file("b", 0)];
            assert!(Replay::start(work(files, &[wrong]), 0).is_err());
        }
        let far = request(0, 3_600_000_000_000, Op::Close, 0, 0, 0);
        let begun_ns = now_ns();
        drop(Replay::start(work(vec![folder.file("a", 0), folder.file("b", 0)], &[far]), 0).unwrap());
        assert!(now_ns() - begun_ns < 5_000_000_000);
    }
}
