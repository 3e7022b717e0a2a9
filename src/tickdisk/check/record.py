"""The result of a check of a running server, as a record from which the screen and all other forms are written."""

from enum import StrEnum
from typing import Annotated

from tickdisk.foundation.record import Record, Unit
from tickdisk.foundation.waiting import TickCause


class Instrument(StrEnum):
    """The instrument that looked at the server."""

    CAPTURE = "capture"
    """bpftrace captured requests and waits."""
    COUNTERS = "counters"
    """Only the kernel's counters in /proc were read."""


class Advice(StrEnum):
    """One thing that the operator can try."""

    NOTHING = "nothing"
    SAVE_APART = "save_apart"
    """Saves wait for the disk in the thread that ticks, or behind a lock that it needs."""
    FASTER_FLUSHES = "faster_flushes"
    FASTER_READS = "faster_reads"
    MORE_MEMORY = "more_memory"
    """Reads of files come back from the disk, because the page cache does not hold them."""
    COMPUTING = "computing"
    CORES = "cores"
    """Other programs compute on the cores that the server needs."""
    OWN_THREADS = "own_threads"
    """Threads of the server itself compute on the cores that the one that ticks needs."""
    LOCKS = "locks"
    """Threads wait for each other."""
    OTHERS = "others"
    """The thread that ticks waits for something outside the server, or sleeps for longer than it should."""
    HELD_FILE = "held_file"
    """Another process holds the lock of a file that the server needs."""
    GARBAGE = "garbage"
    """The runtime stops all threads, most often to collect garbage."""
    LONGER = "longer"
    """Too little was seen."""


class CheckedTicks(Record):
    """The ticks that were captured, or the seconds that stand for them."""

    are_told: bool
    """Whether they are ticks, which were recognised by the loop of the thread. Otherwise they are windows of a second."""
    count: Annotated[int, Unit("ticks")]
    """The number of ticks."""
    budget_ms: float | None
    """The time from the start of one tick to the start of the next if both are on time. It is null for seconds."""
    late: Annotated[int, Unit("ticks")]
    """The number of ticks that took over one and a half budgets, from their start to the start of the next."""
    per_s: float | None
    """The number of ticks in a second, which operators call TPS. It is null for seconds."""
    busy_ms: float
    """The mean time of a tick in which its thread did not sleep, which operators call MSPT."""
    busy_share: float
    """The part of all the time in which the thread did not sleep."""
    longest_ms: float
    """The longest time from the start of a tick to the start of the next."""


class LateTime(Record):
    """The late ticks of one cause. It is the kind of time without which most of a tick's late time would be gone."""

    cause: TickCause
    """The cause."""
    ticks: Annotated[int, Unit("ticks")]
    """The number of these ticks."""
    late_ms: float
    """Their late time in all."""
    share: float
    """Its part of the late time of all late ticks."""


class CheckedWait(Record):
    """The waits for storage of one kind: of a thread, in a call, for the files of a folder."""

    folder: str
    """The path of the folder, or an empty text if the files are not known."""
    files: tuple[str, ...]
    """The names of its files that were waited for, at most a hundred."""
    call: str
    """The system call, or `fault` for a page fault."""
    op: str
    """The kind of request, such as read or sync."""
    thread: str
    """The name of the thread that waited."""
    holds_lock: bool
    """Whether the thread that ticks waited behind it."""
    count: Annotated[int, Unit("calls")]
    """The number of calls that waited."""
    total_ms: float
    """The time of all waits."""
    longest_ms: float
    """The longest wait. A call can wait several times."""


class Moment(Record):
    """A tick that took too long."""

    unix_s: float
    """The time at which it began, in seconds since 1970."""
    gap_ms: float
    """The time to the start of the next."""
    cause: TickCause
    """Its cause."""
    sentence: str
    """The tick in words."""


class Needed(Record):
    """The latency that requests of the disk would need, so that storage makes no tick late. Waits are taken one after another."""

    factor: float
    """The part of today's waiting that would be left. It is 0 if no disk would be fast enough."""
    sync_ms: float | None
    """The mean time of a sync of a file today. It is null if none was seen."""
    read_ms: float | None
    """The mean time of a read that waited for the disk today. It is null if none was seen."""


class Forecast(Record):
    """A class of disks, and how many of the same ticks would be late on it, if its requests came one after another."""

    device: str
    """Its name in data/devices.yaml."""
    late: Annotated[int, Unit("ticks")]
    """The number of ticks that would be late."""
    late_without: Annotated[int, Unit("ticks")]
    """The number that would be late without any wait for storage."""
    would_do: bool
    """Whether storage would make at most one of a thousand ticks late."""


class ForecastError(Record):
    """The error of forecasts in server lives on emulated disks, of which each was forecast from another one."""

    forecasts: Annotated[int, Unit("forecasts")]
    """The number of forecasts that were compared with what was measured."""
    mean: float
    """The mean difference between the forecast and the measured part of the ticks that was late, without its sign."""
    largest: float
    """The largest difference, without its sign."""


class HeldFile(Record):
    """A file of the server whose lock another process held while ticks were late."""

    file: str
    """The path of the file."""
    pid: int
    """The number of the process that held the lock."""
    program: str
    """The name of its program."""
    ticks: Annotated[int, Unit("ticks")]
    """The number of late ticks that were under way meanwhile, and whose cause is not storage."""
    late_ms: float
    """Their late time in all."""


class OtherProgram(Record):
    """A program that computed while the server was captured, and is neither the server nor the check."""

    program: str
    """Its name."""
    pid: int
    """The number of its process, or of the one that computed most if there are several."""
    cores: float
    """The processor time of all its processes in a second, in cores."""


class Price(Record):
    """How much more the server computes while it is captured, against the seconds without a capture before, between and after."""

    ratio: float
    """The server's processor time in a second with a capture, over that without."""
    low: float
    """The lower end of its 95 % interval, from these seconds alone."""
    high: float
    """The upper end."""
    captured_s: float
    """The seconds with a capture that count."""
    free_s: float
    """The seconds without one."""
    tool_cores: float
    """The processor time of the instrument in a second, in cores."""


class Counters(Record):
    """The counters of the kernel, where nothing could capture."""

    late: Annotated[int, Unit("times")] | None
    """The number of times at which the thread did not rest for over one and a half budgets. It seems to rest while it waits for
    other threads. It is null for a server whose ticks have no thread of their own."""
    longest_ms: float
    """The longest time without a rest."""
    waiting_share: float
    """The part of the time in which the thread waited for a disk, as its state says."""
    cores: float
    """The processor time of the server in a second, in cores."""
    read_mb_per_s: float | None
    """The data that it read from disks. It is null if this user may not see it."""
    written_mb_per_s: float | None
    """The data that it wrote to disks."""
    pressure_share: float | None
    """The part of the time in which some task of the machine waited for a disk. It is null if the kernel does not say."""


class Minute(Record):
    """A minute of a watched server, or less if ticks got late in it, from the kernel's counters alone."""

    unix_s: float
    """The time at which it began, in seconds since 1970."""
    seconds: float
    """Its length."""
    late: Annotated[int, Unit("times")]
    """The number of times at which the thread that ticks did not rest for over one and a half budgets. It seems to rest while it
    waits for other threads."""
    longest_ms: float
    """The longest time without a rest."""
    waiting_share: float
    """The part of the time in which the thread waited for a disk."""
    cores: float
    """The processor time of the server in a second, in cores."""
    pressure_share: float | None
    """The part of the time in which some task of the machine waited for a disk. It is null if the kernel does not say."""
    read_ms: float | None
    """The mean time of a read of the server's disk. It is null if there was none, or if the disk is not known."""
    write_ms: float | None
    """The mean time of a write of the server's disk."""


class Verdict(Record):
    """The result of a check."""

    server: str
    """The server in words, such as `Luanti (process 12)`."""
    kind: str
    """The kind of server, or an empty text."""
    pid: int
    """The number of the process."""
    instrument: Instrument
    """The instrument that looked."""
    lacks: tuple[str, ...]
    """The things that the check did not see, or cannot tell here, each with its reason."""
    seconds: float
    """How long the server was captured, or looked at."""
    thread: str
    """The name of the thread that is explained."""
    ticks: CheckedTicks | None
    """The ticks. It is null if no thread was captured."""
    late_ms: float
    """The time in all by which late ticks were too late."""
    storage_late_ms: float
    """The part of it that would be gone if the server never waited for storage."""
    causes: tuple[LateTime, ...]
    """The causes of the late time, the biggest first."""
    waits: tuple[CheckedWait, ...]
    """The waits for storage that delayed ticks, the longest in all first."""
    moments: tuple[Moment, ...]
    """The worst ticks."""
    needed: Needed | None
    """The latency that the server would need of its disk. It is null if storage makes nothing late."""
    disk: str | None
    """The block device of the server's files, whose requests were traced. It is null if they were not."""
    forecasts: tuple[Forecast, ...]
    """The classes of disks, the slowest first. There are none if the requests of the disk are not known, or if nothing waited."""
    forecast_error: ForecastError | None = None
    """The error that such forecasts are known to have. It is null if there are none."""
    held: tuple[HeldFile, ...]
    """The files whose locks others held, the one with most late time first."""
    server_cores: float | None = None
    """The processor time of the server in a second while it was captured, in cores. It is null if it was not captured."""
    others: tuple[OtherProgram, ...] = ()
    """The other programs that computed most meanwhile, at most three."""
    price: Price | None
    """The price of the capture. It is null if the check was too short to measure it."""
    counters: Counters | None = None
    """The counters. They are null if the server was captured."""
    advice: tuple[Advice, ...]
    """Things to try, the first one first."""

    @property
    def cause(self) -> TickCause | None:
        """The biggest cause of late time, or None if nothing is late."""
        return self.causes[0].cause if self.causes else None
