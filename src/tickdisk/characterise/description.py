"""A whole description of a load: its numbers, its sentence, and the tables that its figures are drawn from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

from tickdisk import stats
from tickdisk.characterise.amounts import amounts, latencies, size_distribution, ways_of_storing
from tickdisk.characterise.files import Listing, by_place, share_of_files_touched, touched
from tickdisk.characterise.flushes import flush_policy
from tickdisk.characterise.kind import LoadKind, PublishedLoad, kind
from tickdisk.characterise.load import Load
from tickdisk.characterise.places import locality, reuse, sequences
from tickdisk.characterise.stores import chunks, store_parts
from tickdisk.characterise.summary import over_runs, summary
from tickdisk.characterise.syncs import syncs
from tickdisk.characterise.times import data_over_time, gaps, latency_map, queue, rates
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import number
from tickdisk.foundation.storing import BUFFERED, sync_of

_PARTS: Mapping[str, Callable[[Load], Any]] = {
    "syncs": syncs,
    "amounts": amounts,
    "storing": ways_of_storing,
    "sizes": size_distribution,
    "latencies": latencies,
    "rates": rates,
    "gaps": gaps,
    "latency_map": latency_map,
    "queue": queue,
    "data": data_over_time,
    "locality": locality,
    "sequences": sequences,
    "places": by_place,
    "stores": store_parts,
    "chunks": chunks,
    "flushes": flush_policy,
}


@dataclass(frozen=True)
class Description:
    """A load as it is described, without its requests."""

    key: str
    """Short name, of lower-case letters, digits and underscores."""
    title: str
    level: str
    """Layer of the requests: `syscall` or `block`."""
    place_word: str
    """Word for the place of a request: `file` or `volume`."""
    runs: Sequence[Mapping[str, float]]
    """The numbers of each run, as `summary` returns them."""
    means: Mapping[str, stats.Mean]
    kind: LoadKind
    operations: Mapping[str, int]
    """Number of requests of each operation in all runs."""
    failed: int
    """Number of reads and writes that failed, in all runs."""
    parts: Mapping[str, Any]
    """Results of the functions of this room for the first run, by the names of figures and tables."""
    reasons: Mapping[str, str]
    """Reason for which a part is missing, by its name."""
    files: Listing | None
    """Files that there are. None if they were not given."""
    share_of_files: float | None
    """Share of these files that the first run touches. None if it is not known."""
    peak_mb_per_s: float | None
    """Bandwidth of the disk in MB/s. None if it was not given."""
    alpha: float
    """One minus the confidence of all intervals."""

    def part(self, name: str) -> Any:
        """Returns the part with this key of `parts`. Raises TickdiskError, which says what the trace lacks, if it is missing."""
        if name in self.reasons:
            raise TickdiskError(self.reasons[name])
        return self.parts[name]

    @property
    def storing(self) -> str:
        """A sentence about the requests of the first run that ask for more than the page cache. It is empty if none does."""
        if "storing" not in self.parts:
            return ""
        rows = self.parts["storing"]
        asked = [row for row in rows.to_dict("records") if row["storing"] != BUFFERED]
        counts = ", ".join(f"{number(row['requests'])} {row['op']}s with {row['storing']}" for row in asked)
        waits = any(row["op"] == "write" and sync_of(row["storing"]) for row in asked)
        return f"{counts}{'; such writes wait for the device as a sync does' if waits else ''}"

    @property
    def bandwidth_use(self) -> float | None:
        """Average bandwidth over that of the disk. None if the bandwidth of the disk or the times are not known."""
        average = self.means["average_mb_per_s"].value
        return average / self.peak_mb_per_s if self.peak_mb_per_s is not None and isfinite(average) else None


def describe(
    loads: Iterable[Load],
    *,
    key: str,
    title: str,
    known: Sequence[PublishedLoad],
    alpha: float,
    files: Listing | None = None,
    peak_mb_per_s: float | None = None,
) -> Description:
    """Describes runs of the same kind of load.

    The loads are taken one after another, so that only one needs to be in memory. The tables of the description are those of the
    first run. `known` are the published loads that the sentence refers to. Intervals have confidence 1 - alpha. Raises
    TickdiskError if there is no run, or if runs are of different layers.
    """
    numbers, operations, failed = list[Mapping[str, float]](), dict[str, int](), 0
    parts, reasons, level, word, share = dict[str, Any](), dict[str, str](), "", "", None
    for load in loads:
        if not numbers:
            parts, reasons = _parts(load, files, alpha)
            level, word = load.level, load.place_word
            share = _share_of_files(load, files)
        elif load.level != level:
            raise TickdiskError(f"{load.name} has requests of another layer than the runs before it; inspect it apart")
        numbers.append(summary(load))
        failed += load.failed
        for op, count in load.operations.items():
            operations[op] = operations.get(op, 0) + count
    if not numbers:
        raise TickdiskError(f"{title} has no run; give at least one trace")
    means = over_runs(numbers, alpha)
    sentence = kind({name: mean.value for name, mean in means.items()}, known, place_word=word)
    return Description(
        key,
        title,
        level,
        word,
        numbers,
        means,
        sentence,
        operations,
        failed,
        parts,
        reasons,
        files,
        share,
        peak_mb_per_s,
        alpha,
    )


def _parts(load: Load, files: Listing | None, alpha: float) -> tuple[dict[str, Any], dict[str, str]]:
    values, reasons = dict[str, Any](), dict[str, str]()
    parts: Mapping[str, Callable[[Load], Any]] = {
        **_PARTS,
        "reuse": partial(reuse, alpha=alpha),
        "touched": partial(touched, files=files),
    }
    for name, compute in parts.items():
        try:
            values[name] = compute(load)
        except TickdiskError as error:
            reasons[name] = str(error)
    return values, reasons


def _share_of_files(load: Load, files: Listing | None) -> float | None:
    try:
        return None if files is None else share_of_files_touched(load, files)
    except TickdiskError:
        return None
