"""PaperMC without a jar: each thing that the user has to supply is named. The contract suite runs it where a jar is supplied."""

import re
import zipfile
from pathlib import Path

import pytest

from tickdisk.foundation.errors import TickdiskError
from tickdisk.server import SERVERS, WorldFacts, WorldSpec
from tickdisk.server.papermc import server as room
from tickdisk.server.papermc.plugin import plugin

PAPERMC = SERVERS["papermc"]


def test_everything_that_the_user_has_to_supply_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(room.VARIABLE, raising=False)
    with pytest.raises(TickdiskError, match=rf"no jar of PaperMC is given; name a folder .* in {room.VARIABLE}"):
        PAPERMC.check()
    monkeypatch.setenv(room.VARIABLE, str(tmp_path))
    with pytest.raises(TickdiskError, match=r"paper\.jar does not exist; put the jar of PaperMC there"):
        PAPERMC.check()
    with zipfile.ZipFile(tmp_path / "paper.jar", "w") as jar:
        jar.writestr("version.json", '{"id": "1.21.11"}')
    for consent in (None, "eula=false\n"):
        if consent is not None:
            (tmp_path / "eula.txt").write_text(consent)
        with pytest.raises(TickdiskError, match=r"eula\.txt does not say eula=true; read the licence of Minecraft"):
            PAPERMC.check()
    (tmp_path / "eula.txt").write_text("#By changing this\neula=true\n")
    for name in ("_JAVA", "_COMPILER"):
        monkeypatch.setattr(room, name, tmp_path / name)
    with pytest.raises(TickdiskError, match="_JAVA does not exist; run `make setup`"):
        PAPERMC.check()
    for name in ("_JAVA", "_COMPILER"):
        (tmp_path / name).touch()
    assert PAPERMC.check().version == "1.21.11"
    with pytest.raises(TickdiskError, match=r"has no cache/mojang_VERSION.jar, which paper.jar would download; put it there"):
        PAPERMC._launch(str(tmp_path / "paper.jar"), tmp_path, world(), 1, tmp_path, PAPERMC._settings(2.0))
    (tmp_path / "libraries").mkdir()
    with pytest.raises(TickdiskError, match=r"libraries has no library of PaperMC; let paper.jar unpack them"):
        plugin(tmp_path / "_JAVA", tmp_path / "_COMPILER", tmp_path / "libraries")


def world() -> WorldFacts:
    return WorldFacts(
        server="papermc",
        spec=WorldSpec(42, 5),
        edge_chunks=1,
        seconds=1.0,
        radius_blocks=2,
        blocks_generated=25,
        blocks_stored=25,
        map_bytes=1,
        places=((8, -60, 8),),
    )


def test_settings_go_into_the_files_that_the_server_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user, folder = tmp_path / "user", tmp_path / "fast"
    for path in (user / "libraries", user / "cache", folder):
        path.mkdir(parents=True)
    (user / "cache/mojang_1.21.11.jar").touch()
    (user / "eula.txt").write_text("eula=true\n")
    (tmp_path / "plugin.jar").touch()
    monkeypatch.setattr(room, "plugin", lambda *_: tmp_path / "plugin.jar")
    launch = PAPERMC._launch(str(user / "paper.jar"), tmp_path / "world", world(), 25565, folder, PAPERMC._settings(2.0))
    properties = dict(line.split("=", 1) for line in (folder / "server.properties").read_text().splitlines())
    assert (properties["server-ip"], properties["server-port"], properties["level-seed"]) == ("127.0.0.1", "25565", "42")
    assert "autosave: 40\n" in (folder / "bukkit.yml").read_text()
    assert (folder / "places.txt").read_text() == "8 -60 8\n8 -60 8\n", "the place, and the corner of four regions"
    assert (folder / "spigot.yml").read_text().endswith("- /tickdisk_\n")
    assert (folder / "plugins/tickdisk.jar").exists()
    assert launch.command[3] == str(folder)
    assert f"-Dtickdisk.markers={tmp_path / 'world/markers'}" in launch.command


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/w/map/region/r.0.0.mca", "terrain"),
        ("/w/map/entities/r.0.0.mca", "npc"),
        ("/w/map/playerdata/3fcd2e7e.dat", "player"),
        ("/w/map/poi/r.0.0.mca", "other"),
        ("level.dat", "other"),
    ],
)
def test_files_have_a_kind_of_data(path: str, kind: str) -> None:
    assert PAPERMC.classify(path) == kind


def test_every_command_of_the_plugin_is_registered() -> None:
    folder = Path("src/servers/papermc")
    told = set(re.findall(r"tickdisk_[a-z]+", (folder / "plugin.yml").read_text()))
    assert told == set(re.findall(r'case "(tickdisk_[a-z]+)"', (folder / "tickdisk/Probe.java").read_text()))
    asked = set(re.findall(r"`(tickdisk_[a-z]+) ", Path("src/servers/README.md").read_text()))
    assert told == asked
