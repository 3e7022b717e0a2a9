"""A value that is written as YAML is read as the same, whatever its words look like."""

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from tickdisk.foundation.yaml_file import read_yaml, yaml_text

if TYPE_CHECKING:
    from pathlib import Path

WORDS = st.text(st.characters(categories=["L", "N", "P", "Zs"])) | st.sampled_from(
    ["no", "017", "0o17", "1:30", "~", "1e3", ":0"]
)
SCALARS = st.none() | st.booleans() | st.integers(-(1 << 62), 1 << 62) | st.floats(allow_nan=False) | WORDS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)


@given(VALUES)
def test_what_is_written_is_read(tmp_path_factory: Any, value: Any) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "value.yaml"
    path.write_text(yaml_text(value), encoding="utf-8")
    assert read_yaml(path, "write it") == value
