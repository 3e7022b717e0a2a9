"""Predicts how long the actions of players take, from how far the threads that answer them have come."""

import numpy as np
import numpy.typing as npt

from tickdisk.blame import Integers
from tickdisk.predict.writing import Written

Floats = npt.NDArray[np.float64]
_ARRIVALS = 4000
"""Number of times at which each action is thought to arrive."""


def predicted_ns(
    program: Written, then_ns: Integers, due_ns: Integers, completed_ns: Integers, window_ns: tuple[int, int]
) -> float:
    """Computes the mean latency of actions, in ns, on a device on which the thread that ticks comes to its steps at other times.

    `then_ns` has the times at which the steps of the program are completed there. Players
    act at times of their own, and an action is answered when the thread has come on by as much of its program as in the capture.
    A longer wait also meets more actions. So each latency is taken for arrivals at all times of the window. The thread may do
    more than usual because of an action. So the mean over the captured arrivals is compared with that over arbitrary ones, and
    the difference is kept.
    """
    took_ns = completed_ns - due_ns
    base_ns = window_ns[0]
    at, then = ((times - base_ns).astype(np.float64) for times in (program.path_at_ns, then_ns[program.path]))

    def moved(places: Floats) -> Floats:
        """Returns when the thread comes to these places of its program."""
        return np.where(places > at[-1], then[-1] + places - at[-1], np.interp(places, at, then))

    def answered(begin: Floats) -> float:
        """Returns the mean time that passes while the thread comes on by each latency from these places on."""
        return float(np.mean([moved(begin + took) - moved(begin) for took in took_ns.tolist()]))

    end = float(window_ns[1] - base_ns)
    arrivals = np.linspace(0, float(moved(np.array([end]))[0]), _ARRIVALS)
    places = np.linspace(0, end, _ARRIVALS)
    own = moved((completed_ns - base_ns).astype(np.float64)) - moved((due_ns - base_ns).astype(np.float64))
    return answered(np.interp(arrivals, then, at)) + float(own.mean()) - answered(places)
