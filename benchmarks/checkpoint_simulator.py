"""A benchmark of the simulator's speed on this machine: `python -m benchmarks.checkpoint_simulator`."""

import argparse
from time import perf_counter

from tickdisk.saving.checkpoint import ALGORITHMS, GameTrace, Input, Simulation, ZipfTrace, simulate


def main() -> None:
    """Measures the speed of the simulator on this machine, and prints it in millions of updates per second on one core.

    The time to sort the updates by object counts for every algorithm.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--ticks", type=int, default=200)
    ticks = parser.parse_args().ticks
    inputs: dict[str, Input] = {f"Zipf, {rate:,} a tick": ZipfTrace(rate) for rate in (1_000, 8_000, 64_000, 256_000)}
    inputs["Zipf of skew 0, 64,000 a tick"] = ZipfTrace(64_000, 0.0)
    inputs["Knights and Archers"] = GameTrace()
    print("million updates per second, one core")
    for name, source in inputs.items():
        updates, made_ns, _, _ = source.open().simulate([], ticks, source.state.object_cells)
        started = perf_counter()
        outcomes = simulate(source, [Simulation(algorithm) for algorithm in ALGORITHMS], ticks=ticks)
        seconds = perf_counter() - started
        print(f"{name}: made {updates / made_ns * 1e3:.0f}, all together {len(outcomes) * updates / seconds / 1e6:.0f}")
        for outcome in outcomes:
            print(f"  {outcome.run.algorithm:28} {updates / outcome.nanoseconds * 1e3:8.0f}")


if __name__ == "__main__":
    main()
