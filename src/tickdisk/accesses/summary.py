"""Sums up the accesses of each life in one row."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tickdisk.accesses.flush import delayed, flushes
from tickdisk.accesses.form import PUBLISHED_SIZES, sequential, size_class, transfers
from tickdisk.accesses.life import AccessesOfLife


def summary(lives: Sequence[AccessesOfLife]) -> pd.DataFrame:
    """Sums up the accesses of each life in one row, indexed by its name: their number, form and saves.

    The columns are reads, writes and syncs (numbers), share_4_8_kib (share of reads and writes that ask for 4 or 8 KiB),
    share_sequential_reads and share_sequential_writes (shares of those that have an access before them in their file),
    save_period_s (mean time between the ends of saves), save_syncs and save_requests (means per save; requests are writes and
    syncs), save_requests_per_s (rate while a save writes), and share_saved_bytes_DATA for each data type DATA (share of the
    written bytes that was written in saves; NaN if the life wrote none).
    """
    rows = {}
    for life in lives:
        moved, each = transfers(life.accesses), flushes(life.accesses, life.saves)
        sequence = sequential(life.accesses).reindex(moved.index)
        ops = life.accesses["op"].value_counts()
        rows[life.name] = {
            **{f"{op}s": int(ops.get(op, 0)) for op in ("read", "write", "sync")},
            "share_4_8_kib": size_class(moved["asked_bytes"]).isin(PUBLISHED_SIZES).mean(),
            **{f"share_sequential_{op}s": float(sequence[moved["op"] == op].mean()) for op in ("read", "write")},
            "save_period_s": float(np.diff(life.saves["end_ns"]).mean()) / 1e9,
            "save_syncs": each["syncs"].mean(),
            "save_requests": each["requests"].mean(),
            "save_requests_per_s": each["requests"].sum() / each["seconds"].sum(),
            **delayed(life.accesses, life.saves).set_index("data")["share_saved_bytes"].add_prefix("share_saved_bytes_"),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("life")
