"""Writes and reads the Parquet tables of server lives and traces, such as ticks, actions, requests and waits.

`SCHEMAS` has the columns and types of each table. A trace of another tool leaves many values of the requests table null, and
`need` refuses requests that lack what a task needs. `write_tables` and `read_tables` are for the tables of a study, which lie in
one folder.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import whole

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 3
_MAGIC = b"PAR1"
"""The first and the last bytes of a Parquet file."""
_VERSIONS = {"replay": 1}
"""Versions of the schemas that do not have the version `SCHEMA_VERSION`."""
_NEW_COLUMNS = {"requests": ("storing",), "actions": ("x", "y", "z", "seen")}
"""Nullable columns that files of the same version may lack, because the tables did not always have them, in their order."""
_LACKS = "lacks"
"""Key of the metadata that say what the requests of a file lack."""


def _schema(**columns: str) -> pa.Schema:
    """Returns a schema from kinds of columns. `word` is a short string from a small set. A trailing ? makes a column nullable."""
    kinds = {"int": pa.int64(), "float": pa.float64(), "text": pa.string(), "word": pa.string()}
    return pa.schema([pa.field(name, kinds[kind.rstrip("?")], nullable=kind.endswith("?")) for name, kind in columns.items()])


SCHEMAS: dict[str, pa.Schema] = {
    "ticks": _schema(tick="int", start_ns="int", end_ns="int?", players="int", thread="int?"),
    "saves": _schema(begin_ns="int", end_ns="int"),
    "pauses": _schema(name="word", begin_ns="int", end_ns="int"),
    "actions": _schema(
        player="word",
        action="word",
        due_ns="int",
        issued_ns="int?",
        completed_ns="int?",
        outcome="word",
        detail="text",
        x="int?",
        y="int?",
        z="int?",
        seen="word?",
    ),
    "device": _schema(
        seq="int",
        op="word",
        offset="int",
        length="int",
        arrival_ns="int",
        inflight="int",
        nominal_ns="int",
        replied_ns="int",
        setting="int",
    ),
    "blocks": _schema(op="word", sector="int", length="int", issued_ns="int", completed_ns="int"),
    "latencies": _schema(op="word", queue_depth="int", round="int", latency_ns="int"),
    "epochs": _schema(epoch="int", arm="word", device="word", setting="int", start_ns="int", steady_ns="int", end_ns="int"),
    "clocks": _schema(monotonic_ns="int", monotonic_raw_ns="int", realtime_ns="int", uncertainty_ns="int"),
    "requests": _schema(
        seq="int",
        level="word",
        op="word?",
        call="word?",
        start_ns="int?",
        latency_ns="int?",
        queued_ns="int?",
        thread="int?",
        thread_name="word?",
        process="int?",
        volume="word?",
        file="text?",
        renamed="text?",
        offset="int?",
        length="int?",
        flags="int?",
        result="int?",
        errno="int?",
        storing="word?",
        data="word?",
    ),
    "waits": _schema(
        thread="int",
        thread_name="word",
        start_ns="int",
        end_ns="int",
        kind="word",
        call="word",
        waker="int?",
        waker_name="word?",
    ),
    "extents": _schema(file="text", offset="int", physical="int", length="int"),
    "cuts": _schema(
        cut="int",
        due_ns="int",
        cut_ns="int?",
        late_ns="int?",
        apart_ns="int?",
        keep_share="float",
        pages_dropped="int?",
        pages_kept="int?",
        outcome="word",
        tries="int",
        absent="int",
        detail="text",
    ),
    "remains": _schema(cut="int", player="word", x="int", y="int", z="int", issued_ns="int", acknowledged_ns="int", seen="word?"),
    "injections": _schema(kind="word", due_ns="int", start_ns="int", end_ns="int"),
    "micro": _schema(round="int", tool="word", preads="int", ns_per_pread="float", events="int", lost_events="int"),
    "load": _schema(monotonic_ns="int", process="word", cpu_ns="int"),
    "replay": _schema(
        seq="int",
        thread="int",
        thread_name="word",
        op="word",
        call="word",
        file="text",
        offset="int",
        length="int",
        due_ns="int",
        issued_ns="int",
        completed_ns="int",
        result="int",
        expected="int",
        captured_ns="int?",
        lag_ns="int?",
        lost_ns="int?",
    ),
}


def write(name: str, path: Path, table: "pd.DataFrame | pa.Table", lacking: Mapping[str, int] | None = None) -> None:
    """Writes rows of the table `name` in `SCHEMAS` as a Parquet file, whole or not at all.

    Columns that the schema does not have are left out, and a nullable column that is not there is null. The metadata of the file
    have the name of the table and the version of the schemas, and `lacking`, which `lacks` returns. Raises TickdiskError if a
    column is missing or has a type that does not fit.
    """
    schema = SCHEMAS[name]
    try:
        if not isinstance(table, pa.Table):
            absent = {field.name: None for field in schema if field.nullable and field.name not in table}
            arrow = pa.Table.from_pandas(table.assign(**absent)[schema.names], schema=schema, preserve_index=False)
        else:
            arrow = table.select(schema.names).cast(schema)
    except (KeyError, pa.ArrowInvalid, pa.ArrowTypeError, ValueError) as error:
        raise TickdiskError(
            f"{path}: the rows do not fit the {name} table ({error}); its columns are {', '.join(schema.names)}"
        ) from error
    arrow = arrow.cast(stored_schema(name))
    with whole(path) as partial:
        pq.write_table(
            arrow.replace_schema_metadata(arrow.schema.metadata | lacks_metadata(lacking)), partial, compression="zstd"
        )


def lacks_metadata(lacking: Mapping[str, int] | None) -> dict[str, str]:
    """Returns metadata for the file of a table of requests that say what its trace lacks, or none if it lacks nothing."""
    return {_LACKS: json.dumps(dict(lacking))} if lacking else {}


def lacks(path: Path) -> dict[str, int]:
    """Returns what the requests in a Parquet file lack: the number of things that happened and are no rows of it, by kind."""
    metadata = pq.read_metadata(path).metadata or {}
    return {str(kind): int(count) for kind, count in json.loads(metadata.get(_LACKS.encode(), b"{}")).items()}


def stored_schema(name: str) -> pa.Schema:
    """Returns the schema of a table as it is in a file, with the name of the table and the version of the schemas as metadata."""
    return SCHEMAS[name].with_metadata({b"schema_version": _version(name).encode(), b"table": name.encode()})


def _version(name: str) -> str:
    return str(_VERSIONS.get(name, SCHEMA_VERSION))


def read(name: str, path: Path) -> "pd.DataFrame":
    """Reads the table `name` in `SCHEMAS` from a Parquet file. Integer columns are int64, or Int64 if they are nullable.

    Raises TickdiskError if there is no such file, or if it is no Parquet file or has another table or version.
    """
    try:
        arrow = pq.read_table(path)
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; run the step that writes it") from error
    except (pa.ArrowException, OSError) as error:
        raise TickdiskError(f"{path} {unreadable(path, error)}; copy it again, or make it again") from error
    metadata = arrow.schema.metadata or {}
    table, version = (metadata.get(key, b"?").decode() for key in (b"table", b"schema_version"))
    if (table, version) != (name, _version(name)):
        raise TickdiskError(
            f"{path} holds table {table} version {version}, not {name} version {_version(name)}; run the step that writes it"
        )
    arrow = _with_new_columns(name, arrow)
    for field in SCHEMAS[name]:
        column = arrow[field.name] if field.name in arrow.column_names else None
        if column is None or column.type != field.type or (column.null_count and not field.nullable):
            raise TickdiskError(f"{path}: column {field.name} is missing, of another type or has gaps; make the file again")
    return frame(name, arrow)


def write_tables(folder: Path, tables: Mapping[str, "pd.DataFrame"]) -> None:
    """Writes the tables of a study as `NAME.parquet`, in the order in which they are given, each whole or not at all."""
    for name, rows in tables.items():
        with whole(folder / f"{name}.parquet") as partial:
            rows.to_parquet(partial, index=False, compression="zstd")


def read_tables(folder: Path, tables: Mapping[str, str], advice: str) -> "dict[str, pd.DataFrame]":
    """Reads tables that `write_tables` wrote. `tables` has the columns that each must have, with blanks between them.

    Raises TickdiskError, whose message ends with `advice`, if a file is missing or is no Parquet file, or lacks a column.
    """
    return {name: read_columns(folder / f"{name}.parquet", columns.split(), advice) for name, columns in tables.items()}


def read_columns(path: Path, columns: Sequence[str], advice: str, *, others: bool = True) -> "pd.DataFrame":
    """Reads a Parquet file that has certain columns, with its other columns or without.

    Raises TickdiskError, whose message ends with `advice`, if there is no such file or column.
    """
    try:
        lacking = [column for column in columns if column not in pq.read_schema(path).names]
        if lacking:
            raise TickdiskError(f"{path} lacks the column {lacking[0]}; {advice}")
        rows: pd.DataFrame = pq.read_table(path, columns=None if others else list(columns)).to_pandas()
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} is missing; {advice}") from error
    except (pa.ArrowException, OSError) as error:
        raise TickdiskError(f"{path} {unreadable(path, error)}; {advice}") from error
    return rows


def unreadable(path: Path, error: Exception) -> str:
    """Returns a clause about a file that pyarrow cannot read as a Parquet file, for which it raised `error`."""
    if not path.is_file():
        return "is not a file"
    content = path.read_bytes()
    if content.startswith(_MAGIC) and not content[len(_MAGIC) :].endswith(_MAGIC):
        return f"is cut off: it begins as a Parquet file, but after {len(content)} bytes its end is missing"
    if not content:
        return "is empty"
    return f"is not a Parquet file, or a damaged one ({str(error).splitlines()[0]})"


def _with_new_columns(name: str, arrow: pa.Table) -> pa.Table:
    """Returns a table with the columns that tables did not always have. They are null where the table lacks them."""
    for column in _NEW_COLUMNS.get(name, ()):
        if column not in arrow.column_names:
            field = SCHEMAS[name].field(column)
            arrow = arrow.add_column(SCHEMAS[name].get_field_index(column), field, pa.nulls(len(arrow), field.type))
    return arrow


def frame(name: str, arrow: pa.Table) -> "pd.DataFrame":
    """Turns an Arrow table with one of the `SCHEMAS` into the form in which `read` returns it.

    Integer columns are int64, or Int64 if they are nullable. Names of files are as `tickdisk.foundation.paths` stores them.
    """
    import pandas as pd  # noqa: PLC0415 - commands start without it

    rows: pd.DataFrame = _with_new_columns(name, arrow).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    for field in SCHEMAS[name]:
        if field.type == pa.int64() and not field.nullable:
            rows[field.name] = rows[field.name].astype("int64")
    return rows


def need(requests: "pd.DataFrame", columns: Iterable[str], *, task: str, level: str | None = None) -> "pd.DataFrame":
    """Returns a table of requests in which all `columns` have values. The integer columns among them have the type int64.

    A trace can leave out much of what the table has room for. Raises TickdiskError if a value is missing, or if requests are not
    of `level` (`syscall` or `block`, or None for both). Its message begins with the `task`, such as `a replay`.
    """
    if level is not None and (levels := set(requests["level"]) - {level}):
        have = {"syscall": "system calls", "block": "requests to a block device"}
        raise TickdiskError(f"{task} needs {have[level]}, and the trace has {have[levels.pop()]}; give another trace")
    names = list(columns)
    for column in names:
        missing = int(requests[column].isna().sum())
        if missing:
            count = "" if missing == len(requests) else f" of {missing} of {len(requests)} requests"
            raise TickdiskError(f"{task} needs {column}, which is not in the trace{count}; give a trace that has it")
    whole = {column: requests[column].astype("int64") for column in names if str(requests[column].dtype) == "Int64"}
    return requests.assign(**whole)
