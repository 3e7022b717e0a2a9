"""Writes the verdict of a check in InfluxDB's line protocol, which Telegraf reads."""

from tickdisk.check.record import Verdict
from tickdisk.foundation.waiting import TickCause


def influx(verdict: Verdict, unix_ns: int) -> list[str]:
    """Returns one line with the numbers of a verdict, and one for each cause of late time.

    A field that is not known is left out. `unix_ns` is the time of the lines, in ns since 1970.
    """
    tags = f"server={verdict.kind or 'unknown'},pid={verdict.pid}"
    ticks, counters = verdict.ticks, verdict.counters
    fields: dict[str, float | None] = {"captured_s": verdict.seconds}
    if ticks is not None and ticks.are_told:
        fields |= {"ticks": ticks.count, "late_ticks": ticks.late, "tps": ticks.per_s, "mspt": ticks.busy_ms}
        fields |= {"longest_ms": ticks.longest_ms, "late_ms": verdict.late_ms, "storage_late_ms": verdict.storage_late_ms}
    if counters is not None:
        fields |= {"waiting_share": counters.waiting_share, "cores": counters.cores, "pressure_share": counters.pressure_share}
    known = ",".join(f"{name}={_field(value)}" for name, value in fields.items() if value is not None)
    late = {each.cause: each for each in verdict.causes}
    rows = [f"tickdisk_check,{tags} {known} {unix_ns}"]
    if ticks is not None and ticks.are_told:
        for cause in TickCause:
            own = late.get(cause)
            counted = f"ticks={0 if own is None else own.ticks}i,late_ms={0.0 if own is None else own.late_ms}"
            rows.append(f"tickdisk_late,{tags},cause={cause.value} {counted} {unix_ns}")
    return rows


def _field(value: float) -> str:
    return f"{value}i" if isinstance(value, int) else repr(float(value))
