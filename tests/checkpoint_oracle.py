"""A slow, plain simulator of checkpoint recovery, written from the paper's cost model and not from the native core.

Time is a Fraction, the writer's place is found by asking how long it has written, and every update is looked at by itself.
"""

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
    spread: bool
    lock_all: bool
    copy_all: bool
    writes_always: bool
    starts_dirty: bool
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
) -> tuple[list[tuple[Fraction, Fraction]], list[Checkpoint]]:
    """Overhead and length of each tick, and the checkpoints."""
    now = Fraction(0)
    dirty = [{0, 1} if model.starts_dirty else set() for _ in range(objects)]
    lengths: list[tuple[Fraction, Fraction]] = []
    checkpoints: list[Checkpoint] = []
    for number, cells in enumerate(ticks):
        overhead = Fraction(0)
        for index, cell in enumerate(cells):
            gone = Fraction(index, len(cells)) * model.tick if model.spread else Fraction(0)
            gone += overhead if model.writes_always else 0
            if checkpoints:
                overhead += handle_update(checkpoints[-1], cell // object_cells, gone, model)
        for cell in cells:
            dirty[cell // object_cells] = {0, 1}
        end = now + model.tick + overhead
        if checkpoints:
            checkpoints[-1].done += model.tick + (overhead if model.writes_always else 0)
        if not checkpoints or checkpoints[-1].done >= checkpoints[-1].needed:
            checkpoints.append(begin(algorithm, len(checkpoints), number, end, dirty, model))
            overhead += checkpoints[-1].pause
        lengths.append((overhead, model.tick + overhead))
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
    passed = chosen if to_log else list(range(len(dirty)))
    needed = len(passed) * model.write
    copied = len(chosen) if at_once else 0
    written = now + pause + needed
    return Checkpoint(tick, now, pause, written, len(chosen), copied, is_full, passed, set(chosen), not at_once, needed=needed)


def handle_update(checkpoint: Checkpoint, thing: int, gone: Fraction, model: Model) -> Fraction:
    """What an update takes for which the writer has had so much time in its tick."""
    had = checkpoint.done + gone
    if not checkpoint.copies_on_update or had >= checkpoint.needed:
        return Fraction(0)
    takes = model.bit
    if thing in checkpoint.touched:
        return takes
    checkpoint.touched.add(thing)
    if thing not in checkpoint.to_write:
        return takes + (model.lock if model.lock_all else 0)
    takes += model.lock
    passed = int(had / model.write)
    if model.copy_all or thing not in checkpoint.order[:passed]:
        takes += model.group + model.copy
        checkpoint.copied += 1
    return takes
