//! The times at which the kernel issued requests to a block device.
//!
//! Between a block device and the emulator that serves it, requests wait for the loop device's worker and for FUSE. A single
//! request waits for some microseconds, and the last of many that come together waits for hundreds. A real disk would have begun
//! to serve them in that time. A BPF program of a few instructions on a tracepoint of the kernel therefore writes down when each
//! request of one block device is issued. It writes to memory that the kernel shares with this process.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::Op;

/// Number of slots. The first page of a request decides its slot. If two requests in flight share a slot, only the later one has
/// a time.
const SLOTS: usize = 1 << 16;
const PAGE_SHIFT: u32 = 12;
const SECTOR_SHIFT: u32 = 9;
/// Number that stands for the sector of a flush, which has none.
const NO_SECTOR: u64 = u64::MAX;
const BYTES: usize = SLOTS * size_of::<Slot>();

const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_PROG_TYPE_TRACEPOINT: u32 = 5;
const BPF_F_MMAPABLE: u32 = 1 << 10;
const BPF_PSEUDO_MAP_VALUE: u8 = 2;
const BPF_FUNC_KTIME_GET_NS: i32 = 5;
const PERF_TYPE_TRACEPOINT: u32 = 2;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;
const PERF_EVENT_IOC_ENABLE: libc::c_ulong = 0x2400;
const PERF_EVENT_IOC_SET_BPF: libc::c_ulong = 0x4004_2408;

/// The tracepoint `block:block_rq_issue`, as this kernel describes it. The kernel passes it whenever it issues a request to a
/// block device, and gives a program that is attached to it a record of the request.
#[derive(Clone, Copy, Debug)]
pub struct Tracepoint {
    id: u64,
    /// Place of the device's number (4 bytes) in the tracepoint's record, in bytes from its start.
    device_at: i16,
    /// Place of the first sector (8 bytes) in the record.
    sector_at: i16,
    /// Place of the number of sectors (4 bytes) in the record. A flush has no sectors.
    count_at: i16,
}

impl TryFrom<[u64; 4]> for Tracepoint {
    type Error = std::num::TryFromIntError;

    /// Makes a tracepoint from its number and the places of device, first sector and number of sectors in its record.
    fn try_from([id, device_at, sector_at, count_at]: [u64; 4]) -> Result<Self, Self::Error> {
        let [device_at, sector_at, count_at] = [device_at.try_into()?, sector_at.try_into()?, count_at.try_into()?];
        Ok(Self { id, device_at, sector_at, count_at })
    }
}

/// The last request whose first page belongs to this slot, as the BPF program writes it down.
#[derive(Debug)]
#[repr(C)]
struct Slot {
    sector: AtomicU64,
    /// Time of issue, in ns of `CLOCK_MONOTONIC`. It is 0 if there is no request or its time was already taken.
    at_ns: AtomicU64,
}

/// The slots, in memory to which the kernel writes.
#[derive(Debug)]
struct Slots(*const Slot);

// SAFETY: the slots are atomics in a mapping that lives as long as this value.
unsafe impl Send for Slots {}
// SAFETY: the same holds here.
unsafe impl Sync for Slots {}

impl Slots {
    fn of(map: &OwnedFd) -> io::Result<Self> {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: the call makes a new mapping, of the map's one value, at an address that the kernel chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), BYTES, access, flags, map.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self(start.cast())) }
    }

    fn at(&self, sector: u64) -> &Slot {
        let page = sector >> (PAGE_SHIFT - SECTOR_SHIFT);
        let index = usize::try_from(page % SLOTS as u64).expect("below SLOTS");
        // SAFETY: the index is below SLOTS, and the mapping lives as long as `self`.
        unsafe { &*self.0.add(index) }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `of`, and nobody else has its address.
        unsafe { libc::munmap(self.0.cast_mut().cast(), BYTES) };
    }
}

/// The times at which one block device's requests were issued. The BPF program ends when this value is dropped.
#[derive(Debug)]
pub struct Arrivals {
    slots: Slots,
    _attached: OwnedFd,
}

impl Arrivals {
    /// Watches the block device with the kernel's number `device` (major << 20 | minor). Fails if the kernel lets this process
    /// run no BPF programs.
    pub fn watch(issue: Tracepoint, device: u32) -> io::Result<Self> {
        let map = create_map()?;
        let slots = Slots::of(&map)?;
        let program = load(&program(issue, device, map.as_raw_fd()))?;
        Ok(Self { slots, _attached: attach(issue.id, &program)? })
    }

    /// Returns the time at which the request that begins at `offset` was issued, if it is known, in ns. Each time is returned
    /// only once.
    pub fn issued_ns(&self, op: Op, offset: u64) -> Option<u64> {
        let sector = first_sector(op, offset);
        let slot = self.slots.at(sector);
        if slot.sector.load(Ordering::Acquire) != sector {
            return None;
        }
        let at_ns = slot.at_ns.load(Ordering::Acquire);
        if at_ns == 0 {
            return None;
        }
        // If the exchange fails, the kernel has written another time meanwhile, and that time stays.
        let _ = slot.at_ns.compare_exchange(at_ns, 0, Ordering::AcqRel, Ordering::Relaxed);
        Some(at_ns)
    }
}

fn first_sector(op: Op, offset: u64) -> u64 {
    if op == Op::Flush { NO_SECTOR } else { offset >> SECTOR_SHIFT }
}

/// Encodes a BPF instruction from its operation, its source and destination registers, its offset and its immediate value.
const fn op(code: u8, source: u8, destination: u8, offset: i16, value: i32) -> u64 {
    code as u64
        | ((source << 4 | destination) as u64) << 8
        | (offset.cast_unsigned() as u64) << 16
        | (value.cast_unsigned() as u64) << 32
}

/// Returns the BPF program that writes the first sector and the time of every request of `device` into the request's slot. `map`
/// is the descriptor of the map that holds the slots.
fn program(tracepoint: Tracepoint, device: u32, map: i32) -> [u64; 19] {
    let Tracepoint { device_at, sector_at, count_at, .. } = tracepoint;
    let mask = i32::try_from(SLOTS - 1).expect("a mask of 16 bits");
    let to_page = i32::try_from(PAGE_SHIFT - SECTOR_SHIFT).expect("a shift");
    let [sector_place, time_place] =
        [offset_of!(Slot, sector), offset_of!(Slot, at_ns)].map(|at| i16::try_from(at).expect("within a slot"));
    let to_bytes = i32::try_from(size_of::<Slot>().ilog2()).expect("a shift");
    [
        op(0xbf, 1, 6, 0, 0),                      // r6 = the record
        op(0x61, 6, 1, device_at, 0),              // r1 = its device
        op(0x56, 0, 1, 14, device.cast_signed()),  // if it is another device, go to the end
        op(0x79, 6, 7, sector_at, 0),              // r7 = its first sector
        op(0x61, 6, 1, count_at, 0),               // r1 = its number of sectors
        op(0x56, 0, 1, 1, 0),                      // if there are sectors, skip the next line
        op(0xb7, 0, 7, 0, -1),                     // r7 = NO_SECTOR, for a flush
        op(0x85, 0, 0, 0, BPF_FUNC_KTIME_GET_NS),  // r0 = CLOCK_MONOTONIC
        op(0xbf, 7, 1, 0, 0),                      // r1 = sector
        op(0x77, 0, 1, 0, to_page),                // r1 = page
        op(0x57, 0, 1, 0, mask),                   // r1 = number of the slot
        op(0x67, 0, 1, 0, to_bytes),               // r1 = place of the slot in bytes
        op(0x18, BPF_PSEUDO_MAP_VALUE, 2, 0, map), // r2 = the slots
        op(0x00, 0, 0, 0, 0),                      // the second half of the instruction before
        op(0x0f, 1, 2, 0, 0),                      // r2 = the slot
        op(0x7b, 7, 2, sector_place, 0),           // the slot's sector = r7
        op(0x7b, 0, 2, time_place, 0),             // the slot's time = r0
        op(0xb7, 0, 0, 0, 1),                      // r0 = 1, so that other programs on the tracepoint see the request, too
        op(0x95, 0, 0, 0, 0),                      // return
    ]
}

fn create_map() -> io::Result<OwnedFd> {
    // Before Linux 5.11 a map counts as locked memory, so the limit on locked memory is lifted.
    let unlimited = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel reads the limit, which outlives the call. If the kernel refuses the new limit where it matters, it also
    // refuses the map.
    unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const unlimited) };
    let value_bytes = u32::try_from(BYTES).expect("one mebibyte");
    bpf(BPF_MAP_CREATE, &[BPF_MAP_TYPE_ARRAY, 4, value_bytes, 1, BPF_F_MMAPABLE])
}

#[repr(C)]
struct ProgramLoad {
    kind: u32,
    instructions: u32,
    code: *const u64,
    license: *const libc::c_char,
    log: [u64; 2],
    version_and_flags: u64,
}

fn load(code: &[u64]) -> io::Result<OwnedFd> {
    let instructions = u32::try_from(code.len()).expect("a few instructions");
    let license = c"Dual MIT/GPL".as_ptr();
    bpf(
        BPF_PROG_LOAD,
        &ProgramLoad {
            kind: BPF_PROG_TYPE_TRACEPOINT,
            instructions,
            code: code.as_ptr(),
            license,
            log: [0; 2],
            version_and_flags: 0,
        },
    )
}

fn bpf<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads the attributes and the memory to which they point, and both outlive the call.
    opened(unsafe { libc::syscall(libc::SYS_bpf, command, ptr::from_ref(attributes), size_of::<T>()) })
}

#[repr(C)]
#[derive(Default)]
struct PerfEvent {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint: u32,
    breakpoint_at: u64,
}

/// Runs the program whenever the kernel passes the tracepoint, on any core, until the returned descriptor is closed.
fn attach(tracepoint: u64, program: &OwnedFd) -> io::Result<OwnedFd> {
    let size = u32::try_from(size_of::<PerfEvent>()).expect("64 bytes");
    let event = PerfEvent { kind: PERF_TYPE_TRACEPOINT, size, config: tracepoint, ..PerfEvent::default() };
    let (anybody, first_core, alone): (libc::pid_t, libc::c_int, libc::c_int) = (-1, 0, -1);
    // SAFETY: the kernel reads the event, which outlives the call.
    let event = opened(unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const event, anybody, first_core, alone, PERF_FLAG_FD_CLOEXEC)
    })?;
    for (request, value) in [(PERF_EVENT_IOC_SET_BPF, program.as_raw_fd()), (PERF_EVENT_IOC_ENABLE, 0)] {
        // SAFETY: the call takes a number and no pointer.
        if unsafe { libc::ioctl(event.as_raw_fd(), request, value) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(event)
}

fn opened(result: libc::c_long) -> io::Result<OwnedFd> {
    let descriptor = i32::try_from(result).unwrap_or(-1);
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened the descriptor, and nobody else has it.
    Ok(OwnedFd::from(unsafe { File::from_raw_fd(descriptor) }))
}
