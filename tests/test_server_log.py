"""The server's log and paths: an error counts, an action does not."""

from pathlib import Path

import pytest

from tickdisk import TickdiskError
from tickdisk.server import classify
from tickdisk.server.luanti.log import check_log

# As Luanti 5.6.1 writes it.
ACTION = "2026-11-21 02:43:33: ACTION[Server]: p000 joins game. List of players: p000"
WARNING = "2026-11-21 02:43:33: WARNING[Main]: system-wide fonts will be used"
SIGNAL = "2026-11-21 03:17:08: [Main]: INFO: signal_handler(): got SIGTERM, shutting down."
ERROR = "2026-11-21 02:35:59: ERROR[Main]: ServerError: AsyncErr: Lua: Runtime error from mod 'tickdisk_probe'"
INDENTED = "2026-11-21 02:35:59: ERROR[Main]: \t[C]: in function 'error'"
LEFT = "2026-11-23 19:05:11: ERROR[ConnectionSend]: con(4/1) dropped packet for non existent peer_id: 3"


def test_errors_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"---\n  Separator\n\n{ACTION}\n{WARNING}\n{ERROR}\n{INDENTED}\n{ACTION}")
    problems = check_log(tmp_path / "log")
    assert problems == [
        "Main: ServerError: AsyncErr: Lua: Runtime error from mod 'tickdisk_probe'",
        "Main: \t[C]: in function 'error'",
    ]


def test_a_clean_log(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"{ACTION}\n{WARNING}\nno time stamp: ERROR\n")
    assert check_log(tmp_path / "log") == []


def test_a_packet_to_a_player_who_has_left_is_no_error_and_what_follows_is(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"{LEFT}\nof the same\n{ERROR}\n")
    assert check_log(tmp_path / "log") == ["Main: ServerError: AsyncErr: Lua: Runtime error from mod 'tickdisk_probe'"]


def test_lines_that_continue_an_error_belong_to_it(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"{ERROR}\nmore of it\n{SIGNAL}\nnot of it\n")
    assert check_log(tmp_path / "log") == [
        "Main: ServerError: AsyncErr: Lua: Runtime error from mod 'tickdisk_probe' | more of it"
    ]


def test_no_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="cannot have run"):
        check_log(tmp_path / "log")


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/w/map.sqlite", "terrain"),
        ("/w/map.sqlite-journal", "terrain"),
        ("players.sqlite", "player"),
        ("/w/players.sqlite-journal", "player"),
        (Path("/w/auth.sqlite"), "player"),
        ("/w/mod_storage.sqlite", "other"),
        ("/w/env_meta.txt", "other"),
        ("/w/map_meta.txt", "other"),
    ],
)
def test_what_a_path_holds(path: Path | str, data: str) -> None:
    assert classify(path) == data
