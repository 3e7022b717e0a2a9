"""A benchmark of the real checkpoint algorithms on this machine: `python -m benchmarks.checkpoint_algorithms [FOLDER]`."""

import argparse
from dataclasses import replace
from pathlib import Path

from tickdisk.foundation import temporary
from tickdisk.saving.checkpoint import State
from tickdisk.saving.store import ALGORITHMS, TrialDesign, trials


def main() -> None:
    """Plays lives under all twelve algorithms in a folder, and prints what each algorithm costs, as a row.

    The columns are the algorithm's own time per update (if updates are handed to the store one by one, and if all updates of a
    tick are handed over at once), and, for updates at once, the mean and the longest time added to a tick and the highest memory.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build"), help="existing folder on the disk to be tried")
    parser.add_argument("--rate", type=int, default=64_000, help="updates per tick")
    arguments = parser.parse_args()
    with temporary.folder(arguments.folder) as own:
        design = TrialDesign(own, State(), rates=[arguments.rate], algorithms=ALGORITHMS)
        found = trials(design, lambda _: None)
        singly = trials(replace(design, one_by_one=True), lambda _: None).set_index("algorithm")
    size_mb = design.state.objects * design.state.object_bytes / 1e6
    bare_ns = found["bare_ms"].iloc[0] * 1e6 / arguments.rate
    print(f"real lives, state {size_mb:,.0f} MB, {arguments.rate:,} updates per tick, {bare_ns:.1f} ns each without checkpoints")
    print(f"{'':28} {'one by one':>13} {'at once':>13} {'ms/tick':>9} {'longest':>9} {'memory':>9}")
    for row in found.to_dict("records"):
        own_ms = (float(singly.loc[row["algorithm"], "own_ms"]), row["own_ms"])
        singly_ns, once_ns = (1e6 * ms / arguments.rate for ms in own_ms)
        memory_mb = row["memory_bytes"] / 1e6
        print(
            f"{row['algorithm']:28} {singly_ns:+10.2f} ns {once_ns:+10.2f} ns {row['added_ms']:+9.3f} {row['longest_ms']:9.2f} "
            f"{memory_mb:6,.0f} MB"
        )


if __name__ == "__main__":
    main()
