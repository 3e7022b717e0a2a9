"""Writes the verdict of a check as a screen of at most 24 lines, in plain words."""

import time
from collections.abc import Iterator
from pathlib import Path

from tickdisk.check.record import Advice, CheckedWait, HeldFile, Instrument, Verdict
from tickdisk.foundation.numbers import interval, joined_list, number, percent
from tickdisk.foundation.waiting import TickCause

MOST_LINES = 24
_FEW_FILES = 2
_PART = 0.2
"""Part of the late time from which the disk is worth a word beside a bigger cause."""
_WORDS = {
    Advice.NOTHING: "Nothing was late, so nothing needs to be changed. Check again when players complain.",
    Advice.SAVE_APART: "Look for a setting that saves less often, or that saves outside of the thread that ticks.",
    Advice.FASTER_FLUSHES: "A disk that stores written data faster helps: flushes are what the server waits for.",
    Advice.FASTER_READS: "A disk that reads faster helps.",
    Advice.MORE_MEMORY: "More memory for the page cache helps: the server reads files from the disk again.",
    Advice.COMPUTING: "The server needs a faster core, or less to compute: fewer entities, plugins or chunks at a time.",
    Advice.CORES: "The server needs a core when it has none. Give it cores of its own, or move other programs away.",
    Advice.OWN_THREADS: "Other threads of the server compute on the cores that the ticks need. Give the server more cores.",
    Advice.LOCKS: "Threads of the server wait for each other. Look at what the thread does that holds the lock.",
    Advice.HELD_FILE: "Run the other program, such as a backup, when nobody plays, or let it read a copy of the file.",
    Advice.GARBAGE: "Give the Java runtime more memory or another collector of garbage. The disk has no part in it.",
    Advice.OTHERS: "The server sleeps, or waits for something outside of it, such as a database or a network.",
    Advice.LONGER: "Too few ticks were seen. Check for longer, while players are on the server.",
}
_CAUSES = {
    TickCause.STORAGE: "waiting for the disk",
    TickCause.LOCK: "waiting for other threads",
    TickCause.PAUSE: "pauses of the runtime",
    TickCause.CPU: "computing",
    TickCause.RUN_QUEUE: "waiting for a core",
    TickCause.SLEEP: "sleep and waits for others",
}


def screen(verdict: Verdict, most_lines: int = MOST_LINES) -> list[str]:
    """Returns the lines of the screen, the answer first. Lines over `most_lines` are counted and left out."""
    lines = [
        _first(verdict),
        *_of_counters(verdict),
        *_of_ticks(verdict),
        *_of_causes(verdict),
        *_of_others(verdict),
        *_of_waits(verdict),
        *_of_held(verdict),
        *_of_needed(verdict),
        *_of_forecasts(verdict),
    ]
    lines += _of_moments(verdict)
    if verdict.advice:
        lines += ["To try first:", *(f"  {_WORDS[each]}" for each in verdict.advice)]
    lines += [*_of_price(verdict), *(f"Not seen: {lack}" for lack in verdict.lacks)]
    if len(lines) > most_lines:
        lines = [*lines[: most_lines - 1], f"Not shown: {len(lines) - most_lines + 1} lines, which --json has."]
    return lines


def _first(verdict: Verdict) -> str:
    """Returns the answer in one line."""
    ticks = verdict.ticks
    if verdict.counters is not None:
        share = verdict.counters.waiting_share
        waited = f"the thread {verdict.thread} waited for the disk in {percent(share)} of {verdict.seconds:.0f} s"
        return f"NOT CAPTURED: {verdict.server}; {waited}."
    if ticks is None or not ticks.are_told:
        storage = sum(wait.total_ms for wait in verdict.waits)
        waited = f"its thread {verdict.thread} waited {_ms(storage)} for the disk" if storage else "it did not wait for the disk"
        return f"NO TICKS FOUND in {verdict.server}; in {verdict.seconds:.0f} s {waited}."
    if not verdict.causes:
        return f"NO LAG: none of {ticks.count:,} ticks of {verdict.server} was late in {verdict.seconds:.0f} s."
    cause = verdict.causes[0]
    if cause.cause is TickCause.STORAGE:
        helps = "a faster disk would help" if verdict.needed and verdict.needed.factor > 0 else "no disk alone would be enough"
        blamed = f"the biggest cause is the disk, and {helps}"
    else:
        has_part = verdict.storage_late_ms > _PART * verdict.late_ms
        helps = "a faster disk alone would not be enough" if has_part else "a faster disk would not help"
        held = verdict.held[0] if Advice.HELD_FILE in verdict.advice[:1] else None
        blamed = f"the biggest cause is {_CAUSES[cause.cause] if held is None else _held(held)}, and {helps}"
    return f"LAG: {ticks.late:,} of {ticks.count:,} ticks of {verdict.server} were late; {blamed}."


def _of_counters(verdict: Verdict) -> Iterator[str]:
    counters = verdict.counters
    if counters is None:
        return
    words = [f"it computed for {counters.cores:.2f} s"]
    for word, rate in (("read", counters.read_mb_per_s), ("wrote", counters.written_mb_per_s)):
        words += [] if rate is None else [f"{word} {number(rate)} MB"]
    if counters.late:
        times = "once" if counters.late == 1 else f"{counters.late:,} times"
        yield f"It did not rest for over one and a half ticks {times}, the longest time for {_ms(counters.longest_ms)}."
    hidden = "" if len(words) > 1 else "; root would see what it reads and writes"
    yield f"In each second {joined_list(words)}{hidden}."
    if counters.pressure_share is not None:
        yield f"Some program of this machine waited for a disk in {percent(counters.pressure_share)} of the time."


def _of_ticks(verdict: Verdict) -> Iterator[str]:
    ticks = verdict.ticks
    if ticks is None:
        return
    if not ticks.are_told or ticks.budget_ms is None or ticks.per_s is None:
        busy = percent(round(ticks.busy_share, 2))
        yield f"The thread {verdict.thread} has no loop that can be recognised. It was busy in {busy} of the time."
        return
    yield (
        f"Ticks: {ticks.per_s:.1f} a second (TPS) of {1000 / ticks.budget_ms:.1f}, {_ms(ticks.busy_ms)} each (MSPT), the longest "
        f"{_ms(ticks.longest_ms)}; the thread is {verdict.thread}."
    )


def _of_causes(verdict: Verdict) -> Iterator[str]:
    if verdict.causes:
        parts = ", ".join(f"{_CAUSES[late.cause]} {late.ticks:,} ({_ms(late.late_ms)})" for late in verdict.causes)
        yield f"Late ticks lost {_ms(verdict.late_ms)} in {verdict.seconds:.0f} s. Their causes: {parts}."
        yield f"Without any wait for the disk, {_ms(verdict.storage_late_ms)} of that would be gone."


def _of_others(verdict: Verdict) -> Iterator[str]:
    """Yields the programs that computed beside the server, if ticks waited for a core."""
    if verdict.others and any(late.cause is TickCause.RUN_QUEUE and late.share >= _PART for late in verdict.causes):
        programs = joined_list([f"{each.program} (process {each.pid}) {each.cores:.2f} cores" for each in verdict.others])
        own = "" if verdict.server_cores is None else f", and the server {verdict.server_cores:.2f}"
        yield f"Other programs computed meanwhile: {programs}{own}."


def _of_waits(verdict: Verdict) -> Iterator[str]:
    if not verdict.waits:
        return
    told = verdict.ticks is not None and verdict.ticks.are_told
    yield f"The longest waits for the disk{' in late ticks' if told else ''}:"
    for wait in verdict.waits:
        yield f"  {_wait(wait)}"


def _wait(wait: CheckedWait) -> str:
    times = "once" if wait.count == 1 else f"{wait.count:,} times"
    lock = ", while others waited for its lock" if wait.holds_lock else ""
    longest = f", the longest {_ms(wait.longest_ms)}" if wait.count > 1 else ""
    return f"{wait.thread}: {wait.call or 'a wait'} of {_files(wait)} {times}, {_ms(wait.total_ms)}{longest}{lock}"


def _files(wait: CheckedWait) -> str:
    if not wait.files:
        return "a file that is not known"
    folder = Path(wait.folder).name
    if len(wait.files) > _FEW_FILES:
        return f"{len(wait.files)} files in {folder} (such as {wait.files[0]})"
    return " and ".join(f"{folder}/{name}" for name in wait.files)


def _held(held: HeldFile) -> str:
    return f"a lock on {Path(held.file).name} that {held.program} (process {held.pid}) holds"


def _of_held(verdict: Verdict) -> Iterator[str]:
    for held in verdict.held[:_FEW_FILES]:
        yield f"{held.ticks:,} late ticks ({_ms(held.late_ms)}) met {_held(held)}."


def _of_forecasts(verdict: Verdict) -> Iterator[str]:
    """Yields the slowest class of disk that would do, with the next faster and the next slower one."""
    rows = verdict.forecasts
    if not rows or verdict.ticks is None:
        return
    at = next((number for number, row in enumerate(rows) if row.would_do), len(rows))
    shown = rows[max(at - 1, 0) : at + 2]
    words = ", ".join(f"{row.late:,} on {row.device}" for row in shown)
    found = f"The slowest class of disk that would do is {rows[at].device}" if at < len(rows) else "No class of disk would do"
    others = f"; {rows[0].late_without:,} have other causes" if rows[0].late_without else ""
    yield f"{found}. Late ticks of {verdict.ticks.count:,}, by forecast: {words}{others}."
    if (error := verdict.forecast_error) is not None:
        mean, largest = percent(round(error.mean, 3)), percent(round(error.largest, 3))
        yield f"In {error.forecasts} tests such a forecast was off by {mean} of all ticks on average, and by {largest} at most."


def _of_needed(verdict: Verdict) -> Iterator[str]:
    needed = verdict.needed
    if needed is None or not needed.factor:
        return
    today = [(word, ms) for word, ms in (("syncs", needed.sync_ms), ("reads", needed.read_ms)) if ms is not None]
    words = " and ".join(f"{word} of {_ms(ms * needed.factor)} (today {_ms(ms)})" for word, ms in today)
    if words:
        yield f"To be in time it would need {words}, if it waits for them one after another."


def _of_moments(verdict: Verdict) -> Iterator[str]:
    if verdict.moments:
        yield "The worst moments:"
    for moment in verdict.moments:
        yield f"  {time.strftime('%H:%M:%S', time.localtime(moment.unix_s))}  {moment.sentence}"


def _of_price(verdict: Verdict) -> Iterator[str]:
    price = verdict.price
    if verdict.instrument is not Instrument.CAPTURE:
        return
    if price is None:
        yield "The price of the check was not measured: that takes 20 seconds or more, and a server that computes."
        return
    change = f"{number(price.ratio, trailing_zeros=True)} {interval(price.low, price.high)} times as much"
    unclear = " (no difference was measured)" if price.low <= 1 <= price.high else ""
    yield (
        f"While it was captured, the server computed {change}{unclear}, and the check took {percent(price.tool_cores)} of a core."
    )


def _ms(ms: float) -> str:
    return f"{number(float(f'{ms:.3g}'))} ms"
