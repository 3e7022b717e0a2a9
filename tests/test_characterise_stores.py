"""The parts of game servers' stores: a real SQLite database, a region file whose sectors are known, and LevelDB's files."""

import sqlite3
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_characterise import load

from tickdisk import characterise
from tickdisk.foundation.errors import TickdiskError

PAGE = 4096


def requests(path: Path | str, offsets: list[int], op: str = "read") -> list[dict[str, object]]:
    base = {"op": op, "file": str(path), "length": PAGE, "result": PAGE, "errno": 0}
    return [{**base, "offset": offset, "start_ns": n} for n, offset in enumerate(offsets)]


def counted(rows: list[dict[str, object]]) -> dict[tuple[str, str], int]:
    table = characterise.store_parts(load(rows, "syscall"))
    return table.groupby(["store", "part"])["requests"].sum().to_dict()


def test_pages_of_a_real_database(tmp_path: Path) -> None:
    path = tmp_path / "map.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("create table blocks (pos int primary key, data blob)")
        database.executemany("insert into blocks values (?, ?)", [(n, bytes(300)) for n in range(2000)])
        database.execute("create index by_data on blocks (data)")
    database.close()
    pages = path.stat().st_size // PAGE
    found = counted(requests(path, [PAGE * n for n in range(pages)]))
    assert found["SQLite", "header and first page"] == 1
    assert found["SQLite", "leaf page of a table"] > 100
    assert found["SQLite", "leaf page of an index"] > 100
    assert found["SQLite", "interior page of a table"] >= 1
    assert sum(found.values()) == pages


def test_a_database_that_is_gone_has_pages_of_no_known_kind() -> None:
    rows = requests("/gone/map.sqlite", [0, 8192]) + requests("/gone/map.sqlite-journal", [0, 512 + 4104], "write")
    rows += requests("/gone/map.sqlite-wal", [0, 32, 56, 32 + 24 + PAGE], "write")
    assert counted(rows) == {
        ("SQLite", "header and first page"): 1,
        ("SQLite", "page"): 1,
        ("SQLite", "journal: header"): 1,
        ("SQLite", "journal: old pages"): 1,
        ("SQLite", "log: header"): 1,
        ("SQLite", "log: headers of pages"): 2,
        ("SQLite", "log: pages"): 1,
    }


def test_sectors_and_chunks_of_a_region_file(tmp_path: Path) -> None:
    path = tmp_path / "r.0.0.mca"
    places = [0] * 1024
    places[5], places[33] = 2 << 8 | 3, 7 << 8 | 1
    path.write_bytes(struct.pack(">1024I", *places) + bytes(7 * PAGE))
    rows = requests(path, [0, PAGE, 2 * PAGE, 4 * PAGE, 7 * PAGE, 6 * PAGE]) + requests(path, [2 * PAGE], "write")
    assert counted(rows) == {
        ("region file", "table of places"): 1,
        ("region file", "table of times"): 1,
        ("region file", "sectors of chunks"): 5,
    }
    found = characterise.chunks(load(rows, "syscall"))
    assert found[["x", "z", "reads", "writes"]].to_numpy().tolist() == [[5, 0, 2, 1], [1, 1, 1, 0]]
    assert found["bytes"].tolist() == [3 * PAGE, PAGE]
    path.unlink()
    with pytest.raises(TickdiskError, match="region files that are still there"):
        characterise.chunks(load(rows, "syscall"))


def test_files_of_leveldb() -> None:
    names = {
        "000012.ldb": "sorted table",
        "000013.log": "log of writes",
        "MANIFEST-000004": "list of tables",
        "CURRENT": "housekeeping",
    }
    rows = [row for name in names for row in requests(f"/world/db/{name}", [0])]
    assert counted(rows) == {("LevelDB", part): 1 for part in names.values()}


def test_other_files_have_no_parts() -> None:
    with pytest.raises(TickdiskError, match="not in the trace: region files"):
        characterise.store_parts(load(requests("/etc/passwd", [0]), "syscall"))


def test_writes_of_saves_are_delayed_and_others_immediate() -> None:
    rng = np.random.default_rng(1)
    rows = []
    for save in np.arange(10, 300, 45):
        rows += [{"op": "write", "start_ns": int((save + rng.uniform(0, 0.5)) * 1e9), "length": 4096} for _ in range(200)]
    rows += [{"op": "write", "start_ns": int(at * 1e9), "length": 4096} for at in rng.uniform(0, 300, 300)]
    found = characterise.flush_policy(load(rows))
    assert found.flushes == 7
    assert found.interval_s == pytest.approx(45, rel=0.02)
    assert found.share_delayed == pytest.approx(1400 / 1700, abs=0.02)
    assert found.writes_per_s == pytest.approx(400, rel=0.3)
    none = characterise.flush_policy(load([{"op": "write", "start_ns": n * 10**9, "length": 4096} for n in range(300)]))
    assert (none.flushes, none.share_delayed) == (0, 0.0)
    assert np.isnan(none.interval_s)
    assert isinstance(found.table, pd.DataFrame)
