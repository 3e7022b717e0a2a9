"""The replacement of file names with blanks, which fio's trace file format cannot hold."""

import re
from collections.abc import Mapping
from dataclasses import replace

from tickdisk.replay.plan import ReplayPlan


def rename_blanks(plan: ReplayPlan) -> tuple[ReplayPlan, Mapping[str, str]]:
    """Returns a plan whose file names have no blanks, which fio's trace files cannot hold, and the new names by the old ones.

    A blank is a space or any other white space. Each blank becomes an underscore. If another file has the new name already, a
    number is appended.
    """
    names = {
        *plan.requests["file"],
        *plan.requests["other"],
        *plan.folders,
        *plan.beginning.sizes,
        *plan.beginning.handles,
        *plan.beginning.missing,
        *plan.beginning.folders,
    }
    taken = {name for name in names if not re.search(r"\s", name)}
    renamed: dict[str, str] = {}
    for name in sorted(names - taken):
        plain = fresh = re.sub(r"\s", "_", name)
        number = 2
        while fresh in taken:
            fresh, number = f"{plain}_{number}", number + 1
        renamed[name] = fresh
        taken.add(fresh)

    def of(name: str) -> str:
        return renamed.get(name, name)

    beginning = replace(
        plan.beginning,
        sizes={of(name): size for name, size in plan.beginning.sizes.items()},
        handles={of(name): count for name, count in plan.beginning.handles.items()},
        missing=frozenset(map(of, plan.beginning.missing)),
        folders=frozenset(map(of, plan.beginning.folders)),
    )
    requests = plan.requests.assign(file=plan.requests["file"].map(of), other=plan.requests["other"].map(of))
    return replace(plan, requests=requests, folders=frozenset(map(of, plan.folders)), beginning=beginning), renamed
