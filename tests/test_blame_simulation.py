"""A little machine whose truth is known: threads, cores, locks and a disk, event by event; the other tests of blame use it.

The tables come from what each thread did; the truth about locks from who owned them at each instant, which the tables do not say.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

import pandas as pd

from tickdisk.blame import CaptureEvidence

US, MS = 1_000, 1_000_000
START_NS = 1_000 * MS
ENTRY_NS = 2 * US
"""A system call runs so long before its I/O, and so long after it."""
PLACES = {"/w/map.sqlite": 10 << 20, "/w/players.sqlite": 20 << 20, "/w/map.sqlite-journal": 30 << 20}
FILE_BYTES, JOURNAL_AT = 4 << 20, 1 << 20
MAP, PLAYERS = "/w/map.sqlite", "/w/players.sqlite"
Op = tuple[object, ...]
"""One of ("run", ns), ("burn", ns), ("sleep", ns), ("until", ns), ("acquire", lock), ("release", lock), ("read", file, offset),
("sync", file), ("tick",)."""


@dataclass
class Thread:
    number: int
    name: str
    program: Iterator[Op]
    state: str = "new"
    since_ns: int = 0
    call: str = ""
    rest: deque[Op] = field(default_factory=deque)
    segments: list[tuple[str, int, int, str, int | None]] = field(default_factory=list)

    def enter(self, state: str, at_ns: int, waker: int | None = None) -> None:
        if at_ns > self.since_ns and self.state != "new":
            self.segments.append((self.state, self.since_ns, at_ns, self.call, waker))
        self.state, self.since_ns = state, at_ns


@dataclass
class Lock:
    owner: Thread | None = None
    waiting: deque[Thread] = field(default_factory=deque)
    held: list[tuple[int, int, int]] = field(default_factory=list)
    since_ns: int = 0


class Machine:
    """Runs programs to their end: cores without preemption, locks that hand over in the order of arrival, a disk with a queue."""

    def __init__(
        self,
        programs: Mapping[str, Sequence[Op]],
        *,
        cores: int = 2,
        read_ns: int = 6 * MS,
        stalls: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.now_ns, self._events, self._order = START_NS, [], count()
        self.threads = [Thread(100 + number, name, iter(program)) for number, (name, program) in enumerate(programs.items())]
        self.locks: dict[object, Lock] = {}
        self._asked: dict[tuple[int, int], Lock] = {}
        self._ready: deque[Thread] = deque()
        self._free_cores, self._read_ns, self._stalls = cores, read_ns, sorted(stalls)
        self._disk_free_ns = 0
        self.requests: list[dict[str, object]] = []
        self.device: list[dict[str, object]] = []
        self.ticks: list[int] = []
        self.burns: list[tuple[int, int]] = []
        for thread in self.threads:
            thread.enter("run_queue", self.now_ns)
            self._ready.append(thread)
        self._dispatch()
        while self._events:
            self.now_ns, _, action = heapq.heappop(self._events)
            action()

    def _at(self, at_ns: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at_ns, next(self._order), action))

    def _dispatch(self) -> None:
        while self._free_cores and self._ready:
            self._free_cores -= 1
            thread = self._ready.popleft()
            thread.enter("running", self.now_ns)
            self._step(thread)

    def _wake(self, thread: Thread, waker: int | None = None) -> None:
        thread.enter("run_queue", self.now_ns, waker)
        self._ready.append(thread)
        self._dispatch()

    def _block(self, thread: Thread, state: str, until_ns: int | None = None) -> None:
        thread.enter(state, self.now_ns)
        self._free_cores += 1
        if until_ns is not None:
            self._at(until_ns, lambda: self._wake(thread))
        self._dispatch()

    def _step(self, thread: Thread) -> None:  # noqa: C901, PLR0912 - one case an op
        """Lets a running thread go on to its next op."""
        while True:
            op = thread.rest.popleft() if thread.rest else next(thread.program, None)
            match op:
                case None:
                    self._block(thread, "sleep")
                    return
                case ("tick",):
                    self.ticks.append(self.now_ns)
                case ("run", ns):
                    self._at(self.now_ns + ns, lambda: self._step(thread))
                    return
                case ("burn", ns):
                    self.burns.append((self.now_ns, self.now_ns + ns))
                    thread.rest.appendleft(("run", ns))
                case ("sleep", ns):
                    self._block(thread, "sleep", self.now_ns + ns)
                    return
                case ("until", at_ns) if at_ns > self.now_ns:
                    self._block(thread, "sleep", at_ns)
                    return
                case ("acquire", name):
                    lock = self.locks.setdefault(name, Lock())
                    if lock.owner is not None:
                        lock.waiting.append(thread)
                        self._asked[thread.number, self.now_ns] = lock
                        thread.call = "futex"
                        self._block(thread, "lock")
                        return
                    lock.owner, lock.since_ns = thread, self.now_ns
                case ("release", name):
                    self._release(self.locks[name], thread)
                case ("read" | "sync" as kind, *rest):
                    self._call(thread, kind, *rest)
                case ("io", kind, file, offset):
                    self._block(thread, "io", self._served(kind, file, offset))
                    return
                case ("exit", request):
                    request["latency_ns"] = self.now_ns - request["start_ns"]
                    thread.call = ""

    def _release(self, lock: Lock, thread: Thread) -> None:
        assert lock.owner is thread
        lock.held.append((thread.number, lock.since_ns, self.now_ns))
        lock.owner = lock.waiting.popleft() if lock.waiting else None
        lock.since_ns = self.now_ns
        if lock.owner is not None:
            lock.owner.enter("run_queue", self.now_ns, thread.number)
            lock.owner.call = ""
            self._ready.append(lock.owner)
            self._at(self.now_ns, self._dispatch)

    def _call(self, thread: Thread, kind: str, file: str, offset: int | None = None) -> None:
        thread.call = {"read": "pread64", "sync": "fdatasync"}[kind]
        request = {
            "seq": len(self.requests) + 1000,
            "level": "syscall",
            "op": kind,
            "call": thread.call,
            "start_ns": self.now_ns,
            "thread": thread.number,
            "thread_name": thread.name,
            "process": 100,
            "file": file,
            "offset": offset,
            "length": None if offset is None else 4096,
            "result": 4096 if kind == "read" else 0,
            "errno": 0,
            "storing": "buffered",
            "data": "terrain" if "map" in file else "player",
        }
        self.requests.append(request)
        thread.rest.extend((("run", ENTRY_NS), ("io", kind, file, offset), ("run", ENTRY_NS), ("exit", request)))

    def _served(self, kind: str, file: str, offset: int | None) -> int:
        """A read is one request of the disk; a sync is a write of the file, one of the journal and a flush."""
        if kind == "read":
            return self._disk("read", PLACES[file] + int(offset or 0), 4096)
        self._disk("write", PLACES[file], 4096)
        self._disk("write", JOURNAL_AT, 8192)
        return self._disk("flush", 0, 0)

    def _disk(self, op: str, offset: int, length: int) -> int:
        start_ns = max(self.now_ns, self._disk_free_ns)
        for begin_ns, end_ns in self._stalls:
            start_ns = end_ns if begin_ns <= start_ns < end_ns else start_ns
        self._disk_free_ns = start_ns + self._read_ns
        self.device.append(
            {
                "seq": len(self.device) + 5000,
                "op": op,
                "offset": offset,
                "length": length,
                "arrival_ns": self.now_ns,
                "inflight": 1,
                "nominal_ns": self._disk_free_ns,
                "replied_ns": self._disk_free_ns,
                "setting": 1,
            }
        )
        return self._disk_free_ns

    def waits(self, without: Sequence[str] = ()) -> pd.DataFrame:
        rows = [
            (thread.number, thread.name, start_ns, end_ns, kind, call, waker)
            for thread in self.threads
            if thread.name not in without
            for kind, start_ns, end_ns, call, waker in thread.segments
            if kind != "running"
        ]
        names = {thread.number: thread.name for thread in self.threads}
        table = pd.DataFrame(rows, columns=["thread", "thread_name", "start_ns", "end_ns", "kind", "call", "waker"])
        table["waker_name"] = [names.get(waker) for waker in table["waker"]]
        return table.astype({"thread": "int64", "start_ns": "int64", "end_ns": "int64", "waker": "Int64"})

    def evidence(self, without: Sequence[str] = (), **more: object) -> CaptureEvidence:
        numbers = {"offset": "Int64", "length": "Int64"}
        device = pd.DataFrame(self.device, columns=[*DEVICE])
        return CaptureEvidence(
            "life",
            pd.DataFrame(self.requests, columns=[*REQUESTS]).astype(numbers | {"start_ns": "int64", "latency_ns": "int64"}),
            self.waits(without),
            (START_NS, self.now_ns),
            ticks=pd.DataFrame({"tick": range(7, 7 + len(self.ticks)), "start_ns": self.ticks, "players": 1, "thread": 1}),
            device=device.astype({name: "int64" for name in DEVICE if name != "op"}),
            extents=pd.DataFrame(
                [(file, 0, at, FILE_BYTES) for file, at in PLACES.items()], columns=["file", "offset", "physical", "length"]
            ),
            **more,
        )

    def truth(self, number: int, start_ns: int, end_ns: int) -> dict[str, int]:
        """Where a thread's time went: kind, locks by who owned them at each instant; storage is I/O, own or an owner's.

        While the last owner sleeps, whoever waits for it sleeps, too.
        """
        found = dict.fromkeys(("running", "io", "lock", "run_queue", "sleep", "storage"), 0)
        thread = self.threads[number - 100]
        for kind, begin, end, _, _ in thread.segments:
            low, high = max(begin, start_ns), min(end, end_ns)
            if low >= high:
                continue
            found[kind] += high - low
            if kind == "io":
                found["storage"] += high - low
            if kind == "lock":
                held = self._asked[number, begin].held
                for who, since, until in held:
                    if max(since, low) >= min(until, high):
                        continue
                    behind = self.truth(who, max(since, low), min(until, high))
                    found["storage"] += behind["storage"]
                    found["sleep"] += behind["sleep"]
                    found["lock"] -= behind["sleep"]
        return found


DEVICE = ("seq", "op", "offset", "length", "arrival_ns", "inflight", "nominal_ns", "replied_ns", "setting")
REQUESTS = (
    "seq", "level", "op", "call", "start_ns", "latency_ns", "thread", "thread_name", "process",
    "file", "offset", "length", "result", "errno", "storing", "data",
)  # fmt: skip


def ticking(*bodies: Sequence[Op], budget_ns: int = 90 * MS) -> list[Op]:
    """The program of a tick thread: a body a tick, the rest of the budget asleep."""
    due_ns = START_NS
    program: list[Op] = [("run", US)]
    for body in bodies:
        due_ns += budget_ns
        program += [("tick",), ("run", 10 * US), *body, ("run", 10 * US), ("until", due_ns)]
    return [*program, ("tick",), ("run", US), ("sleep", US)]


def locked(lock: str, *ops: Op) -> list[Op]:
    return [("acquire", lock), *ops, ("release", lock)]


def test_the_machine_accounts_for_every_nanosecond():
    reader = [("sleep", 5 * MS), *locked("env", ("read", MAP, 4096), ("run", MS))]
    machine = Machine({"Server": ticking([("run", 6 * MS), *locked("env", ("run", MS))]), "Emerge-0": reader})
    for thread in machine.threads:
        assert all(end == start for (_, _, end, _, _), (_, start, _, _, _) in pairwise(thread.segments))
    server = machine.truth(100, *machine.ticks)
    assert sum(server[kind] for kind in ("running", "io", "lock", "run_queue", "sleep")) == machine.ticks[1] - machine.ticks[0]
    # Worked out by hand: the reader has the lock from 5 ms, calls for 2 us, reads for 6 ms, is back for 2 us and computes for
    # 1 ms; the server asks for the lock at 6.011 ms. Until 11.002 ms that is storage, from then to 12.004 ms it is not.
    assert server["lock"] == 6 * MS - 7 * US
    assert server["storage"] == 5 * MS - 9 * US
