"""Every server that can run here keeps the contract, and a server that does not is found out."""

from pathlib import Path

import pytest
from conftest import for_release

from tickdisk.foundation.errors import TickdiskError
from tickdisk.player import binary
from tickdisk.run import check_server
from tickdisk.server import SERVERS, Server, WorldSpec
from tickdisk.server.contract import Launch

pytestmark = pytest.mark.live
PORT = 30292
NAMES = [pytest.param(name, marks=for_release) if kind.variant_of else name for name, kind in SERVERS.items()]


def available(kind: Server) -> Server:
    try:
        kind.check()
        binary(kind.clients)
    except TickdiskError as error:
        pytest.skip(str(error))
    return kind


@pytest.mark.parametrize("name", NAMES)
def test_a_server_keeps_the_contract(name: str, tmp_path: Path) -> None:
    clauses = list(check_server(available(SERVERS[name]), tmp_path, port=PORT, players=3))
    assert [f"{clause.name}: {clause.detail}" for clause in clauses if not clause.kept] == []
    assert {f"players can {action}" for action in SERVERS[name].capabilities} <= {clause.name for clause in clauses}


@pytest.mark.parametrize("name", NAMES)
def test_a_server_that_dies_at_its_start_says_so_in_one_sentence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = available(SERVERS[name])
    world = tmp_path / "world"
    kind.make_world(world, WorldSpec(1, 5), tmp_path / "logs")  # one square, the smallest world
    monkeypatch.setattr(kind, "_launch", lambda *_: Launch(["sh", "-c", "echo no memory; exit 3"], {}))
    with pytest.raises(TickdiskError, match=r"server ended at its start \(exit code 3\); its last words: no memory$"):
        kind.start(world, port=PORT, folder=tmp_path / "fast", logs=tmp_path / "logs")
