"""Predicts how long the actions of players take, from how far the threads that answer them have come."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tickdisk.blame import Integers
from tickdisk.predict.writing import Written

Floats = npt.NDArray[np.float64]
LOADING = ("join", "teleport", "walk")
"""Kinds of actions whose answer has a part of the world, which threads that read may have to load."""
_ARRIVALS = 4000
"""Number of times at which each action is thought to arrive."""


@dataclass(frozen=True)
class _Path:
    """The way of the thread that ticks through its program, in the capture and on another device."""

    at: Floats
    """Times in the capture at which it had done its steps."""
    then: Floats
    """Times at which it has done them on the other device."""
    idle_from: Floats
    idle_until: Floats
    """Times in the capture at which the thread began to wait for something to do, and at which it had something to do."""

    def moved(self, places: Floats) -> Floats:
        """Returns when the thread comes to places of its program, which are times in the capture."""
        return np.where(places > self.at[-1], self.then[-1] + places - self.at[-1], np.interp(places, self.at, self.then))

    def free(self, places: Floats) -> Floats:
        """Returns the first place from each one on at which the thread has nothing else to do."""
        ended = np.searchsorted(self.idle_until, places, side="right")
        begin = np.append(self.idle_from, np.inf)[ended]
        return np.where(np.isinf(begin), places, np.maximum(begin, places))


def predicted_ns(
    program: Written,
    then_ns: Integers,
    due_ns: Integers,
    completed_ns: Integers,
    window_ns: tuple[int, int],
    *,
    is_loading: bool = False,
) -> float:
    """Computes the mean latency of actions, in ns, on a device on which threads come to their steps at other times.

    `then_ns` has the times at which the steps of the program are completed there. An action is taken up when the thread that
    ticks has nothing else to do, and is answered when this thread has come on from there by as much of its program as in the
    capture. If `is_loading`, the answer also waits for the last block request that a reader had made before the captured answer.

    Players act at times of their own, so that a longer tick meets more actions than its place in the program tells. The latencies
    of the captured arrivals are therefore corrected by the difference between arrivals at all times of the other device and at
    all times of the capture.
    """
    base = float(window_ns[0])
    at, then = ((times - base).astype(np.float64) for times in (program.path_at_ns, then_ns[program.path]))
    path = _Path(at, then, *((ends - base).astype(np.float64) for ends in program.idle_ns))
    due, completed = (due_ns - base).astype(np.float64), (completed_ns - base).astype(np.float64)
    took = np.maximum(0.0, completed - path.free(due))

    def answered(places: Floats) -> float:
        """Returns the mean latency of actions that arrive at these places of the program."""
        begin, free = path.moved(places), path.free(places)
        return float(np.mean([path.moved(free + each) - begin for each in took.tolist()]))

    end = float(window_ns[1] - base)
    elsewhere = np.interp(np.linspace(0, float(path.moved(np.array([end]))[0]), _ARRIVALS), then, at)
    answer = path.moved(path.free(due) + took)
    if is_loading:
        loaded = [_loaded(program, then_ns, *ends) - base for ends in zip(due_ns.tolist(), completed_ns.tolist(), strict=True)]
        answer = np.maximum(answer, path.moved(due) - due + loaded)
    own = float((answer - path.moved(due)).mean())
    return own + answered(elsewhere) - answered(np.linspace(0, end, _ARRIVALS))


def _loaded(program: Written, then_ns: Integers, due_ns: int, completed_ns: int) -> float:
    """Returns when a captured answer would come if it waited as long as the readers' last requests before it take longer."""
    later_ns = 0
    for steps, at_ns in program.readers:
        last = int(np.searchsorted(at_ns, completed_ns, side="right")) - 1
        if last >= 0 and at_ns[last] >= due_ns:
            later_ns = max(later_ns, int(then_ns[steps[last]] - at_ns[last]))
    return float(completed_ns + later_ns)
