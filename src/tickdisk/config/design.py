"""The designs of the experiments: which server lives a block has, with their epochs and injected stalls, drawn from the seed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tickdisk.config.model import Arm, CaptureCost, Config, ExperimentName, Switchback


@dataclass(frozen=True)
class Epoch:
    """A stretch of a server life with one setting of the device; times from the start of the player trace."""

    cycle: int
    arm: str
    start_s: float
    steady_s: float
    end_s: float


@dataclass(frozen=True)
class Injection:
    """A stall that is made on purpose, at a time from the start of the player trace."""

    kind: Literal["device_stall", "cpu_stall"]
    due_s: float


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


def _shuffled(arms: Sequence[Arm], rng: np.random.Generator) -> list[str]:
    names = [arm.arm for arm in arms]
    return [names[index] for index in rng.permutation(len(names))]


def _switchback_lives(config: Config, arms: Sequence[Arm], block: int) -> tuple[Life, ...]:
    design = config.chosen.switchback
    length_s = design.epoch_save_periods * design.save_period_s
    epochs = _epochs(config, "switchback", arms, block, design, length_s=length_s, cut_s=design.save_period_s)
    return (_one_life(config, "switchback", arms, block, epochs),)


def _capture_cost_lives(config: Config, arms: Sequence[Arm], block: int) -> tuple[Life, ...]:
    design = config.chosen.capture_cost
    epochs = _epochs(config, "capture_cost", arms, block, design, length_s=design.epoch_s, cut_s=design.cut_s)
    return (_one_life(config, "capture_cost", arms, block, epochs),)


def _epochs(
    config: Config,
    experiment: str,
    arms: Sequence[Arm],
    block: int,
    design: Switchback | CaptureCost,
    *,
    length_s: float,
    cut_s: float,
) -> tuple[Epoch, ...]:
    """Every arm has one epoch in a cycle, in an order drawn anew."""
    rng = _rng(config, experiment, block, "order")
    at, epochs = design.warm_up_s, []
    for cycle in range(design.cycles):
        for arm in _shuffled(arms, rng):
            epochs.append(Epoch(cycle, arm, at, at + cut_s, at + length_s))
            at += length_s
    return tuple(epochs)


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
    injections = tuple(Injection(kind, round(due_s, 3)) for kind, due_s in zip(kinds, begins_s, strict=True))
    end_s = design.warm_up_s + design.stall_period_s * len(kinds)
    epochs = (Epoch(0, arms[0].arm, design.warm_up_s, design.warm_up_s, end_s),)
    return (_one_life(config, "inside_tick", arms, block, epochs, injections),)


def _accesses_lives(config: Config, arms: Sequence[Arm], block: int) -> tuple[Life, ...]:
    design = config.chosen.accesses
    epochs = (Epoch(0, arms[0].arm, 0.0, 0.0, design.seconds if block else design.first_seconds),)
    return (_one_life(config, "accesses", arms, block, epochs),)


def _join_burst_lives(config: Config, arms: Sequence[Arm], block: int) -> tuple[Life, ...]:
    design = config.chosen.join_burst
    seed = int(_rng(config, "join_burst", block, "trace").integers(2**31))
    end = design.burst_s + design.stay_s
    return tuple(
        Life(arm, arm, seed, end, (Epoch(0, arm, 0.0, 0.0, end),))
        for arm in _shuffled(arms, _rng(config, "join_burst", block, "order"))
    )


_LIVES: Mapping[ExperimentName, Callable[[Config, Sequence[Arm], int], tuple[Life, ...]]] = {
    "switchback": _switchback_lives,
    "join_burst": _join_burst_lives,
    "inside_tick": _inside_tick_lives,
    "accesses": _accesses_lives,
    "capture_cost": _capture_cost_lives,
}
