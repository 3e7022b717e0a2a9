"""Tables of notebooks: numbers as people write them, no empty columns, and every value that is not empty."""

import math
import re

import pandas as pd

from tickdisk.studies.display import as_html


def _cells(markup: str) -> list[str]:
    return re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", markup)


def test_numbers_are_rounded_and_missing_values_are_empty() -> None:
    table = pd.DataFrame(
        {"arm": ["a <b>", "c"], "n": [12345, 1], "ratio": [1.23456, math.nan], "found": [True, False], "lost": [math.nan, None]}
    ).set_index("arm")
    markup = as_html(table)
    assert _cells(markup) == ["arm", "n", "ratio", "found", "a &lt;b&gt;", "12,345", "1.23", "yes", "c", "1", "", "no"]
    assert "Columns without a value: lost." in markup


def test_a_table_without_rows_keeps_its_columns_and_a_repeated_index_all_of_its_rows() -> None:
    assert _cells(as_html(pd.DataFrame({"a": [], "b": []}))) == ["", "a", "b"]
    repeated = pd.DataFrame({"life": ["x", "x"], "value": [1, 2]}).set_index("life")
    assert _cells(as_html(repeated)) == ["life", "value", "x", "1", "x", "2"]
