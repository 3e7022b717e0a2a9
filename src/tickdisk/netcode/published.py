"""Writes the record of a server life in the layout of Net-Celerity, so that the programs of that study can read it."""

from pathlib import Path

import pandas as pd

from tickdisk.foundation.files import write_text
from tickdisk.netcode.life import StackLife
from tickdisk.netcode.steps import steady_pings

_PINGS = ["Player_ID", "Total_Players", "RoundTripDelay_ms"]


def write_published(life: StackLife, folder: Path) -> list[Path]:
    """Writes the answered pings, and a log of the system, as text with semicolons, and returns the two files.

    The first has the columns Player_ID, Total_Players and RoundTripDelay_ms, and one row per answered ping of the steady parts.
    The second has one row per reading of the counters: Time_s from the start of the life, CPU_percent of all cores since the
    reading before, Memory_bytes of the server, and the bytes that its network device has sent and received so far.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pings = steady_pings(life).dropna(subset=["rtt_ms"])
    answered = pings[["player", "players", "rtt_ms"]].set_axis(_PINGS, axis=1)
    counters = life.counters
    cores = len({*life.cores.server, *life.cores.others})
    system = pd.DataFrame(
        {
            "Time_s": (counters["at_ns"] - life.start_ns) / 1e9,
            "CPU_percent": 100 * counters["all_cores_ns"].diff() / (counters["at_ns"].diff() * cores),
            "Memory_bytes": counters["server_memory_bytes"],
            "Bytes_Sent": counters["sent_bytes"],
            "Bytes_Received": counters["received_bytes"],
        }
    )
    paths = [folder / f"{life.setting.stack}_rtt.csv", folder / f"{life.setting.stack}_system.csv"]
    for path, rows in zip(paths, (answered, system), strict=True):
        write_text(path, rows.to_csv(sep=";", index=False, float_format="%.3f"))
    return paths
