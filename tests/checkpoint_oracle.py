"""A slow, plain simulator of checkpoint recovery, written from the paper's cost model and not from the native core.

Time is a Fraction, the writer's place is found by asking how long it has written, and every update is looked at by itself.
"""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class Model:
    """Times in seconds."""

    tick: Fraction
    group: Fraction
    copy: Fraction
    lock: Fraction
    bit: Fraction
    write: Fraction
    passing: Fraction
    sync: Fraction
    page: Fraction
    spread: bool
    lock_all: bool
    copy_all: bool
    writes_always: bool
    starts_dirty: bool
    sweeps: bool
    full_every: int


@dataclass
class Checkpoint:
    tick: int
    begin: Fraction
    pause: Fraction
    written: Fraction
    objects: int
    copied: int
    is_full: bool
    order: list[int] = field(default_factory=list)
    """The objects in the order in which the writer passes them; of a double backup it passes all."""
    to_write: set[int] = field(default_factory=set)
    copies_on_update: bool = False
    touched: set[int] = field(default_factory=set)
    done: Fraction = Fraction(0)
    """Time that the writer has had."""
    needed: Fraction = Fraction(0)


TABLE = {  # copies at once, what it writes, to a log
    "naive_snapshot": (True, "all", False),
    "dribble_and_copy_on_update": (False, "all", True),
    "atomic_copy_dirty_objects": (True, "dirty", False),
    "partial_redo": (True, "dirty", True),
    "copy_on_update": (False, "dirty", False),
    "copy_on_update_partial_redo": (False, "dirty", True),
}


def simulate(
    algorithm: str, objects: int, object_cells: int, ticks: list[list[int]], model: Model
) -> tuple[list[tuple[Fraction, Fraction, Counter[str]]], list[Checkpoint]]:
    """Overhead and length of each tick and what it did, and the checkpoints."""
    now = Fraction(0)
    dirty = [{0, 1} if model.starts_dirty else set() for _ in range(objects)]
    lengths: list[tuple[Fraction, Fraction, Counter[str]]] = []
    checkpoints: list[Checkpoint] = []
    for number, cells in enumerate(ticks):
        overhead = Fraction(0)
        work, seen = Counter[str](), set[int]()
        if checkpoints and checkpoints[-1].done < checkpoints[-1].needed:
            work["beside"], work["changed_beside"] = len(cells), len({cell // object_cells for cell in cells})
        for index, cell in enumerate(cells):
            gone = Fraction(index, len(cells)) * model.tick if model.spread else Fraction(0)
            gone += overhead if model.writes_always else 0
            tested = work["tested"]
            if checkpoints:
                overhead += handle_update(checkpoints[-1], cell // object_cells, gone, model, work, seen)
            if TABLE[algorithm][:2] == (True, "dirty") and work["tested"] == tested:
                overhead += model.bit
                work["tested"] += 1
                work["touched"] += cell // object_cells not in seen
                seen.add(cell // object_cells)
        for cell in cells:
            dirty[cell // object_cells] = {0, 1}
        end = now + model.tick + overhead
        if checkpoints:
            checkpoints[-1].done += model.tick + (overhead if model.writes_always else 0)
        if not checkpoints or checkpoints[-1].done >= checkpoints[-1].needed:
            checkpoints.append(begin(algorithm, len(checkpoints), number, end, dirty, model))
            overhead += checkpoints[-1].pause
            at_once = set() if checkpoints[-1].copies_on_update else checkpoints[-1].to_write
            work |= {"begun": 1, "copied": len(at_once), "groups": sum(number - 1 not in at_once for number in at_once)}
        lengths.append((overhead, model.tick + overhead, work))
        now += model.tick + overhead
    return lengths, checkpoints


def begin(algorithm: str, count: int, tick: int, now: Fraction, dirty: list[set[int]], model: Model) -> Checkpoint:
    at_once, what, to_log = TABLE[algorithm]
    is_full = what == "all"
    if algorithm in ("partial_redo", "copy_on_update_partial_redo") and count % model.full_every == model.full_every - 1:
        at_once, what, to_log = TABLE["dribble_and_copy_on_update"]
        is_full = True
    partial_or_full_log = algorithm in ("partial_redo", "copy_on_update_partial_redo", "dribble_and_copy_on_update")
    images = {0, 1} if partial_or_full_log else {count % 2}
    chosen = [number for number, bits in enumerate(dirty) if what == "all" or bits & images]
    for number in range(len(dirty)):
        dirty[number] = dirty[number] - images
    pause = Fraction(0)
    if at_once:
        for number in chosen:
            pause += model.copy + (0 if number - 1 in chosen else model.group)
    passed = chosen if to_log or not model.sweeps else list(range(len(dirty)))
    needed = len(passed) * model.write + model.sync
    if not to_log and not model.sweeps:
        needed = len(chosen) * model.passing + len({number // 8 for number in chosen}) * model.page + model.sync
    copied = len(chosen) if at_once else 0
    written = now + pause + needed
    return Checkpoint(tick, now, pause, written, len(chosen), copied, is_full, passed, set(chosen), not at_once, needed=needed)


def handle_update(
    checkpoint: Checkpoint, thing: int, gone: Fraction, model: Model, work: Counter[str], seen: set[int]
) -> Fraction:
    """What an update takes for which the writer has had so much time in its tick; what it did goes into `work`."""
    had = checkpoint.done + gone
    if not checkpoint.copies_on_update or had >= len(checkpoint.order) * model.passing:
        return Fraction(0)
    work["tested"] += 1
    work["touched"] += thing not in seen
    seen.add(thing)
    takes = model.bit
    if thing in checkpoint.touched:
        return takes
    checkpoint.touched.add(thing)
    if thing not in checkpoint.to_write:
        work["locked"] += model.lock_all
        return takes + (model.lock if model.lock_all else 0)
    takes += model.lock
    work["locked"] += 1
    passed = int(had / model.passing)
    if model.copy_all or thing not in checkpoint.order[:passed]:
        takes += model.group + model.copy
        checkpoint.copied += 1
        work["saved"] += 1
    return takes
