"""Predicts how long the actions of players take, from how far the threads that answer them have come."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk.blame import Integers
from tickdisk.predict.writing import Written

Floats = npt.NDArray[np.float64]
LOADING = ("join", "teleport", "walk")
"""Kinds of actions whose answer has a part of the world, which threads that read may have to load."""
_SHIFTS = 64
"""Number of shifts, in each of which all actions come later by the same time, so that they meet other parts of ticks."""
_FARTHEST_NS = 3e9
_FARTHEST_SHARE = 1 / 8
"""Limits of the time of a shift, in ns and as a share of the window. The smaller one counts."""
_PLACES = 4000
"""Number of places in the program at which an arbitrary action may begin."""


@dataclass(frozen=True)
class _Path:
    """The times at which the thread that ticks has done its steps, in the capture and on another device, in ns."""

    at: Floats
    """Times in the capture at which it had done its steps."""
    then: Floats
    """Times at which it has done them on the other device."""
    idle_from: Floats
    idle_until: Floats
    """Times in the capture at which the thread began to wait for something to do, and at which it had something to do."""

    def moved(self, places: Floats) -> Floats:
        """Returns when the thread comes to some places of its program. A place is a time in the capture."""
        after = np.maximum(places - self.at[-1], 0) + np.minimum(places - self.at[0], 0)
        moved: Floats = np.interp(places, self.at, self.then) + after
        return moved

    def places(self, times: Floats) -> Floats:
        """Returns the places of the program that the thread has reached at some times."""
        after = np.maximum(times - self.then[-1], 0) + np.minimum(times - self.then[0], 0)
        places: Floats = np.interp(times, self.then, self.at) + after
        return places

    def free(self, places: Floats) -> Floats:
        """Returns for each place the first one, at or after it, at which the thread has nothing else to do."""
        ended = np.searchsorted(self.idle_until, places, side="right")
        begin = np.append(self.idle_from, np.inf)[ended]
        return np.where(np.isinf(begin), places, np.maximum(begin, places))


def latencies_ns(
    program: Written, then_ns: Integers, actions: pd.DataFrame, window_ns: tuple[int, int], tau_ns: float
) -> dict[str, Floats]:
    """Computes the latencies of the actions of each kind, in ns, on a device on which steps are completed at other times.

    `then_ns` has the times at which the steps of the program are completed there, and `actions` the completed actions. The result
    has one number for each action that was due in the window, and none above `tau_ns`. A player does one thing after another. An
    action is taken up when the thread that ticks has nothing else to do. It is answered when this thread has then done as much
    of its program as it did for the answer in the capture. An answer with a part of the world also waits until readers have
    loaded all that they had loaded before the tick of the captured answer.

    Players do not wait for ticks, so that more actions begin during a longer tick. Latencies on both devices are therefore means
    over many shifts of all actions, and their difference is added to the captured latency. Actions may also begin at special
    places of the program, because the thread may have more to do after them. So the difference between the captured places
    and arbitrary ones is added, too.
    """
    base = float(window_ns[0])
    at, then = ((times - base).astype(np.float64) for times in (program.path_at_ns, then_ns[program.path]))
    idle = [(ends - base).astype(np.float64) for ends in program.idle_ns]
    device, capture = _Path(at, then, *idle), _Path(at, at, *idle)
    told = actions.sort_values(["player", "due_ns"], kind="stable")
    due, issued, completed = (told[name].to_numpy(np.float64) - base for name in ("due_ns", "issued_ns", "completed_ns"))
    took = np.maximum(0.0, completed - device.free(issued))
    alone = device.moved(device.free(issued) + took)
    loaded = _loaded(program, then_ns, told) - base
    loading = np.where(told["action"].isin(LOADING), np.maximum(0.0, loaded - alone), 0.0)
    turns = _Turns(told["player"].to_numpy(), due, _lags(told["player"].to_numpy(), due, issued, completed), took)
    farthest = min(_FARTHEST_NS, _FARTHEST_SHARE * (window_ns[1] - window_ns[0]))
    shifts = np.linspace(-farthest, farthest, _SHIFTS)
    longer = turns.latencies(device, shifts, loading, tau_ns) - turns.latencies(capture, shifts, 0 * loading, tau_ns)
    everywhere = np.linspace(0, float(window_ns[1]) - base, _PLACES)
    met = [_met(path, issued, took, tau_ns) - _met_anywhere(path, everywhere, took, tau_ns) for path in (device, capture)]
    predicted = np.minimum(np.minimum(completed - due, tau_ns) + longer + met[0] - met[1], tau_ns)
    inside = (due >= 0) & (due < float(window_ns[1]) - base)
    kinds = told["action"].to_numpy()
    return {str(kind): predicted[inside & (kinds == kind)] for kind in np.unique(kinds[inside]).tolist()}


def _met(path: _Path, begin: Floats, took: Floats, tau_ns: float) -> Floats:
    """Returns how long each action takes if it begins at its captured place in the program."""
    return np.minimum(path.moved(path.free(begin) + took) - path.moved(begin), tau_ns)


def _met_anywhere(path: _Path, everywhere: Floats, took: Floats, tau_ns: float) -> Floats:
    """Returns for each action how long it takes on average if it begins anywhere in the program."""
    begin, free = path.moved(everywhere), path.free(everywhere)
    return np.array([float(np.minimum(path.moved(free + each) - begin, tau_ns).mean()) for each in took.tolist()])


@dataclass(frozen=True)
class _Turns:
    """Actions in the order in which each player does them."""

    player: npt.NDArray[np.object_]
    due: Floats
    lag: Floats
    """Time from when an action is due and the one before it is completed, until it is issued."""
    took: Floats
    """Length of the program from the place at which the thread is free until the answer."""

    def latencies(self, path: _Path, shifts: Floats, loading: Floats, tau_ns: float) -> Floats:
        """Returns the mean latency of each action over the shifts, if answers come later by `loading`.

        In the mean, no latency counts as more than `tau_ns`.
        """
        mean = np.empty_like(self.due)
        done = np.full_like(shifts, -np.inf)
        for number in range(self.due.size):
            if number and self.player[number] != self.player[number - 1]:
                done = np.full_like(shifts, -np.inf)
            due = self.due[number] + shifts
            issued = np.maximum(due, done) + self.lag[number]
            done = path.moved(path.free(path.places(issued)) + self.took[number]) + loading[number]
            mean[number] = float(np.minimum(done - due, tau_ns).mean())
        return mean


def _lags(player: npt.NDArray[np.object_], due: Floats, issued: Floats, completed: Floats) -> Floats:
    before = np.concatenate([[-np.inf], completed[:-1]])
    before[np.concatenate([[True], player[1:] != player[:-1]])] = -np.inf
    lags: Floats = np.maximum(0.0, issued - np.maximum(due, before))
    return lags


def _loaded(program: Written, then_ns: Integers, actions: pd.DataFrame) -> Floats:
    """Returns when each action is answered if only the readers hold its answer up, in ns, or 0 if they did nothing for it.

    The tick in which the captured answer came has what readers had loaded before this tick began. So the answer comes in the
    first tick after the last of these requests.
    """
    begin, end = (actions[name].to_numpy(np.int64) for name in ("issued_ns", "completed_ns"))
    starts, later_starts = program.starts_ns, then_ns[program.ticks]
    tick = np.searchsorted(starts, end, side="right") - 1
    began = np.where(tick >= 0, starts[tick], begin)
    answered = np.zeros(len(actions))
    for steps, at_ns in program.readers:
        last = np.searchsorted(at_ns, began, side="right") - 1
        is_own = (last >= 0) & (np.append(at_ns, 0)[last] >= begin)
        loaded_ns = np.append(then_ns[steps], 0)[np.where(is_own, last, -1)]
        after = np.minimum(np.searchsorted(later_starts, loaded_ns), later_starts.size - 1)
        came = np.maximum(later_starts[after], loaded_ns) + end - began
        answered = np.maximum(answered, np.where(is_own, came, 0))
    return answered
