"""The sentence on what changed files in the capture and is not made again."""

from collections.abc import Collection

from tickdisk.replay.changes import CHANGES
from tickdisk.replay.plan import ReplayPlan


def missing(plan: ReplayPlan, made: Collection[int] | None = None) -> str:
    """Returns which calls, with how many bytes, changed files and are not made again, in one sentence without its full stop.

    If a tool makes only a part of the plan, `made` has the numbers (seq) of the requests that it makes.
    """
    unmade = list(zip(plan.unmade["op"], plan.unmade["reason"], plan.unmade["bytes"], strict=True))
    if made is not None:
        every = plan.requests[~plan.requests["seq"].isin(made) & (plan.requests["expected"] >= 0)]
        rest = every[(every["op"].isin(CHANGES) | every["cuts"]) & ((every["op"] != "write") | (every["expected"] > 0))]
        unmade += [(op, "that the tool does not make", moved) for op, moved in zip(rest["op"], rest["expected"], strict=True)]
    kinds = list(dict.fromkeys((op, reason) for op, reason, _ in unmade))
    reasons = [f"{sum(one[:2] == kind for one in unmade):,} {' '.join(kind)}" for kind in kinds]
    bytes_moved = sum(int(moved) for *_, moved in unmade)
    size = f", with {bytes_moved:,} bytes" if bytes_moved else ""
    told = [f"{len(unmade):,} calls that changed files{size} ({', '.join(reasons)})"] if unmade else []
    lacks = [f"{count:,} {kind}" for kind, count in plan.lacks.items()]
    return "; ".join([*told, *lacks]) or "no call that changed files, as far as the capture tells"
