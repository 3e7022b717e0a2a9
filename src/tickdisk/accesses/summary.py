"""One row a life: what its accesses were like altogether."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tickdisk.accesses.flush import delayed, flushes
from tickdisk.accesses.form import PUBLISHED_SIZES, sequential, size_class, transfers
from tickdisk.accesses.life import Life


def summary(lives: Sequence[Life]) -> pd.DataFrame:
    """Returns one row a life, index life; shares are of requests unless they say bytes.

    reads, writes, syncs; share_4_8_kib of reads and writes; share_sequential_reads and _writes of those that have an access
    before them in their file; save_period_s (mean, end to end); save_syncs, save_requests (writes and syncs), mean of saves;
    save_requests_per_s while a save writes; share_saved_bytes_DATA: of the bytes written, those in saves (NaN where none was).
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
