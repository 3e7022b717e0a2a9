"""Writes the tables of notebooks as HTML: numbers as people write them, no empty columns, and text that wraps."""

from typing import Any

import numpy as np
import pandas as pd
from IPython.core.getipython import get_ipython

from tickdisk.foundation.numbers import number

_STYLE = (
    "<style>.tickdisk-table { overflow-x: auto; } .tickdisk-table table { font-size: 85%; table-layout: auto; max-width: 100%; }"
    ".tickdisk-table :is(th, td) { text-align: left !important; white-space: normal !important; font-weight: normal; }"
    ".tickdisk-table thead th { font-weight: bold; vertical-align: bottom; }</style>"
)


def as_html(table: pd.DataFrame) -> str:
    """Returns a table as HTML. Columns without any value are left out, and a line below the table names them."""
    shown = table.reset_index(allow_duplicates=True) if any(name is not None for name in table.index.names) else table
    texts = shown.map(_text)
    empty = [column for column in shown.columns if (texts[column] == "").all()] if len(shown) else []
    markup = texts.drop(columns=empty).to_html(border=0, index=shown is table, sparsify=True)
    line = f"<small>Columns without a value: {', '.join(map(str, empty))}.</small>" if empty else ""
    return f'<div class="tickdisk-table">{_STYLE}{markup}{line}</div>'


def show_tables_as_html() -> None:
    """Makes a notebook show every table by `as_html`. Outside of a notebook, it does nothing."""
    shell = get_ipython()
    if shell is not None and shell.display_formatter is not None:
        shell.display_formatter.formatters["text/html"].for_type(pd.DataFrame, as_html)


def _text(value: Any) -> str:
    """Returns the text of a cell, which is empty for a missing value."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return "" if value != value else number(float(value))  # noqa: PLR0124 - NaN
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    return "" if value is None or value is pd.NA or value is pd.NaT else str(value)
