"""The designs of the experiments: which server lives a block has, with their epochs and injected stalls, drawn from the seed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tickdisk.config.balance import balanced_order
from tickdisk.config.model import Arm, Config, ExperimentName

_DELAY_PERIOD_S = 1.6
"""Time from one delay of the tick's thread to the next, in an arm that has such delays."""
_DELAY_AFTER_S = 0.1
"""Time from the beginning of the part of an epoch that is analysed to its first delay."""


@dataclass(frozen=True)
class Epoch:
    """A stretch of a server life with one setting of the device; times from the start of the player trace."""

    arm: str
    start_s: float
    steady_s: float
    end_s: float


@dataclass(frozen=True)
class Injection:
    """A stall that is made on purpose, at a time from the start of the player trace: of the device, or of the tick's thread."""

    kind: Literal["device_stall", "cpu_stall"]
    due_s: float
    length_ms: int


@dataclass(frozen=True)
class Life:
    """One server life: which arm's device it starts on, and what follows. `seconds` is the length of its trace."""

    name: str
    first_arm: str
    trace_seed: int
    seconds: float
    epochs: tuple[Epoch, ...]
    injections: tuple[Injection, ...] = ()


def lives_of(config: Config, experiment: ExperimentName, arms: Sequence[Arm], block: int) -> tuple[Life, ...]:
    """Returns the lives of a block, in running order; the same configuration gives the same lives."""
    return _LIVES[experiment](config, arms, block)


def _rng(config: Config, experiment: str, block: int, purpose: str) -> np.random.Generator:
    words = [config.seed, block, *(int.from_bytes(word.encode()[:8].ljust(8), "little") for word in (experiment, purpose))]
    return np.random.default_rng(np.random.SeedSequence(words))


def _ordered(config: Config, experiment: str, arms: Sequence[Arm], block: int) -> list[str]:
    return balanced_order([arm.arm for arm in arms], block, lambda square: _rng(config, experiment, square, "order"))


def _switchback_lives(config: Config, arms: Sequence[Arm], block: int) -> tuple[Life, ...]:
    design = config.chosen.switchback
    length_s = design.epoch_save_periods * design.save_period_s
    order = _ordered(config, "switchback", arms, block)
    epochs = _epochs(order, design.warm_up_s, length_s=length_s, cut_s=design.save_period_s)
    return (_one_life(config, "switchback", arms, block, epochs, _delays(arms, epochs)),)


def _capture_cost_lives(config: Config, arms: Sequence[Arm], block: int) -> tuple[Life, ...]:
    design = config.chosen.capture_cost
    order = _ordered(config, "capture_cost", arms, block)
    epochs = _epochs(order, design.warm_up_s, length_s=design.epoch_s, cut_s=design.cut_s)
    return (_one_life(config, "capture_cost", arms, block, epochs, _delays(arms, epochs)),)


def _epochs(order: Sequence[str], start_s: float, *, length_s: float, cut_s: float) -> tuple[Epoch, ...]:
    """One epoch an arm, one after another."""
    starts_s = [start_s + length_s * number for number in range(len(order))]
    return tuple(Epoch(arm, at_s, at_s + cut_s, at_s + length_s) for arm, at_s in zip(order, starts_s, strict=True))


def _delays(arms: Sequence[Arm], epochs: Sequence[Epoch]) -> tuple[Injection, ...]:
    """Returns the delays of the tick's thread in the epochs of arms that have them."""
    lengths_ms = {arm.arm: arm.tick_delay_ms for arm in arms}
    found = []
    for epoch in epochs:
        length_ms, due_s = lengths_ms[epoch.arm], epoch.steady_s + _DELAY_AFTER_S
        while length_ms is not None and due_s < epoch.end_s:
            found.append(Injection("cpu_stall", round(due_s, 3), length_ms))
            due_s += _DELAY_PERIOD_S
    return tuple(found)


def _one_life(
    config: Config,
    experiment: str,
    arms: Sequence[Arm],
    block: int,
    epochs: tuple[Epoch, ...],
    injections: tuple[Injection, ...] = (),
) -> Life:
    baseline = next(arm.arm for arm in arms if arm.role == "baseline")
    seed = int(_rng(config, experiment, block, "trace").integers(2**31))
    return Life("life", baseline, seed, epochs[-1].end_s, epochs, injections)


def _inside_tick_lives(config: Config, arms: Sequence[Arm], block: int) -> tuple[Life, ...]:
    design = config.chosen.inside_tick
    rng = _rng(config, "inside_tick", block, "order")
    kinds = rng.permutation(np.repeat(["device_stall", "cpu_stall"], design.stalls)).tolist()
    begins_s = [design.warm_up_s + design.stall_period_s * (slot + rng.uniform(0, 0.5)) for slot in range(len(kinds))]
    injections = tuple(Injection(kind, round(due_s, 3), design.stall_ms) for kind, due_s in zip(kinds, begins_s, strict=True))
    end_s = design.warm_up_s + design.stall_period_s * len(kinds)
    epochs = (Epoch(arms[0].arm, design.warm_up_s, design.warm_up_s, end_s),)
    return (_one_life(config, "inside_tick", arms, block, epochs, injections),)


def _accesses_lives(config: Config, arms: Sequence[Arm], block: int) -> tuple[Life, ...]:
    design = config.chosen.accesses
    epochs = (Epoch(arms[0].arm, 0.0, 0.0, design.seconds if block else design.first_seconds),)
    return (_one_life(config, "accesses", arms, block, epochs),)


def _join_burst_lives(config: Config, arms: Sequence[Arm], block: int) -> tuple[Life, ...]:
    design = config.chosen.join_burst
    seed = int(_rng(config, "join_burst", block, "trace").integers(2**31))
    lives = []
    for arm in _ordered(config, "join_burst", arms, block):
        epochs = _epochs([arm], 0.0, length_s=design.burst_s + design.stay_s, cut_s=0.0)
        lives.append(Life(arm, arm, seed, epochs[-1].end_s, epochs, _delays(arms, epochs)))
    return tuple(lives)


_LIVES: Mapping[ExperimentName, Callable[[Config, Sequence[Arm], int], tuple[Life, ...]]] = {
    "switchback": _switchback_lives,
    "join_burst": _join_burst_lives,
    "inside_tick": _inside_tick_lives,
    "accesses": _accesses_lives,
    "capture_cost": _capture_cost_lives,
}
