"""Words for a comparison of two runs, for a terminal and for the paper."""

from collections.abc import Iterator

from tickdisk.compare.comparison import ComparedClaim, Comparison

_ORDER = ("other", "same", "undecided in one", "undecided in both", "other plan", "only in one")


def summary(comparison: Comparison) -> str:
    """Sums up in a few sentences how many verdicts are the same, and how many intervals overlap."""
    if comparison.is_one_run:
        same = "Both runs hold the same numbers to the last digit, so a run is compared with itself here."
        return f"{same} {_compared(comparison)}"
    return _compared(comparison)


def _compared(comparison: Comparison) -> str:
    decided = comparison.count("same") + comparison.count("other")
    apart = sum(row.intervals == "apart" for row in comparison.rows)
    overlapping = sum(row.intervals == "overlap" for row in comparison.rows)
    near = sum(row.intervals == "near" for row in comparison.rows)
    said = [f"{comparison.count('same')} of the {_counted(decided, 'claim')} that both runs decide have the same verdict."]
    if comparison.count("undecided in one"):
        said.append(f"{_counted(comparison.count('undecided in one'), 'claim')} can be decided in only one of the runs.")
    if comparison.count("undecided in both"):
        said.append(f"{_counted(comparison.count('undecided in both'), 'claim')} cannot be decided in either.")
    within = f", and {near} more {'is' if near == 1 else 'are'} within the margin" if near else ""
    said.append(f"{overlapping} of {_counted(overlapping + near + apart, 'pair')} of intervals overlap{within}.")
    if comparison.plans:
        studies = ", ".join(study.replace("_", " ") for study in comparison.plans)
        said.append(f"The plans differ in {studies}, so that claims of these studies are not compared.")
    if comparison.count("only in one"):
        alone = comparison.count("only in one")
        said.append(f"{_counted(alone, 'claim')} {'stands' if alone == 1 else 'stand'} in only one of the runs.")
    return " ".join(said)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def lines(comparison: Comparison, *, all_rows: bool) -> Iterator[str]:
    """Yields the runs, the summary, and a table of claims line by line.

    Without `all_rows` the table holds only claims with another verdict and claims whose intervals are apart.
    """
    for name, side, machine in (
        ("A", comparison.first, comparison.machines[0]),
        ("B", comparison.second, comparison.machines[1]),
    ):
        yield f"{name}: {side} ({machine})"
    yield summary(comparison)
    rows = sorted(comparison.rows, key=lambda row: _ORDER.index(row.compared))
    shown = [row for row in rows if all_rows or row.compared == "other" or row.intervals == "apart"]
    if shown:
        yield ""
        yield from _table(shown)


def _table(rows: list[ComparedClaim]) -> Iterator[str]:
    heads = ("claim", "verdict in A", "verdict in B", "verdicts", "effect in A", "effect in B", "intervals")
    cells = [heads, *((row.id, *row.verdicts, row.compared, *row.effects, row.intervals) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
