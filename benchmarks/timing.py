"""Times of jobs that are compared with each other."""

import time
from collections.abc import Callable, Mapping


def best_s(jobs: Mapping[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """Runs all jobs in turn, `turns` times, and returns the shortest time of each in s."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(turns):
        for name, job in jobs.items():
            start_s = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start_s)
    return best
