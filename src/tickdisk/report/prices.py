"""The price list of changes in Markdown: what each does to the longest tick gap on a slow disk, and what a power cut loses."""

from collections.abc import Mapping
from pathlib import Path

from tickdisk.compare import KEPT, Reference, machine_of, read_about
from tickdisk.experiment import CHANGES, UNCHANGED
from tickdisk.foundation.errors import TickdiskError
from tickdisk.report.listed import Place
from tickdisk.studies.statement import FACTS, Fact, read_facts

PRICES = Place("<!-- The next lines are printed by `tickdisk prices`. -->", "<!-- The price list ends here. -->")
"""The place of the list in a document."""


def price_list(kept: Path = KEPT) -> str:
    """Returns the price list of our kept run of the study of changes, or a sentence that says that there is none.

    `kept` is the folder of the kept studies. The text is Markdown, and ends with a newline. Raises TickdiskError if the kept
    facts lack one that the list needs.
    """
    folder = kept / CHANGES.name
    if not (folder / FACTS).exists():
        return f"There is no price list yet, because no run of the study `{CHANGES.name}` is kept in `{KEPT / CHANGES.name}`.\n"
    facts = read_facts(folder)
    try:
        return _written(facts, read_about(folder))
    except KeyError as error:
        raise TickdiskError(f"{folder / FACTS} lacks the fact {error.args[0]}; run the study again and keep it") from error


def _written(facts: Mapping[str, Fact], about: Reference) -> str:
    origin = (
        f"These numbers are ours. They come from our run at {about.scale} scale of {about.date} (commit {about.commit[:12]}) on "
        f"{machine_of(facts)}, and have {facts['setup.confidence'].short} intervals."
    )
    head = ("Server", "Change", "A save every (gap, cut)", "Longest tick gap on the slow disk", "n", "Loss in a power cut")
    titles = {name.split(".")[1]: fact.text for name, fact in facts.items() if _is_title(name)}
    rows = [
        _row(facts, f"{CHANGES.name}.{server}", life)
        for server in sorted(titles, key=lambda server: titles[server])
        for life in _lives(facts, f"{CHANGES.name}.{server}.title.")
    ]
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join([origin, "", *lines]) + "\n"


def _is_title(name: str) -> bool:
    parts = name.split(".")
    return len(parts) == 3 and parts[0] == CHANGES.name and parts[2] == "title"  # noqa: PLR2004 - study, server and title


def _lives(facts: Mapping[str, Fact], start: str) -> list[str]:
    """Returns the names of the lives whose titles begin with `start`, the one without a change first."""
    lives = (name.removeprefix(start) for name in facts if name.startswith(start))
    return sorted(lives, key=lambda life: (life != UNCHANGED, life))


def _row(facts: Mapping[str, Fact], server: str, life: str) -> list[str]:
    slow, analysed = (facts[f"{server}.{name}"].short for name in ("latency", "analysed"))
    gap = facts[f"{server}.slow.gap_max.{life}"]
    said = f"{gap.text} in {analysed}, at {slow}"
    if life != UNCHANGED:
        gap = facts[f"{server}.gap_max_slow_ratio.{life}"]
        said = f"{gap.text} times as long"
    ended = facts[f"{server}.slow_ended.{life}"]
    if ended.value:
        said += f"; the slow disk ended {ended.text} of {ended.n}"
    periods, loss = [facts[f"{server}.save_period.{life}"].text], "not tried"
    if f"{server}.lost_s.{life}" in facts:
        opened, cuts = (facts[f"{server}.{name}.{life}"].value for name in ("opened", "cuts"))
        loss = f"{facts[f'{server}.lost_s.{life}'].text} of play; {opened} of {cuts} worlds opened"
        periods.append(facts[f"{server}.cut_save_period.{life}"].text)
    return [facts[f"{server}.title"].text, facts[f"{server}.title.{life}"].text, ", ".join(periods), said, str(gap.n), loss]
