"""Replaces the names of files, volumes and hosts in requests, so that a trace can be given to others.

The same name is replaced by the same word everywhere in a conversion. Usual endings stay, and so do names that every server has,
such as `map.sqlite`, because they tell the kind of data that a file holds. Names of players are names of files, and do not stay.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

_FOLDERS = frozenset(
    {
        "srv",
        "home",
        "root",
        "var",
        "opt",
        "tmp",
        "usr",
        "etc",
        "proc",
        "sys",
        "dev",
        "lib",
        "lib64",
        "bin",
        "run",
        "mnt",
        "media",
        "games",
        "world",
        "worlds",
        "world_nether",
        "world_the_end",
        "region",
        "entities",
        "poi",
        "playerdata",
        "players",
        "stats",
        "advancements",
        "data",
        "datapacks",
        "db",
        "logs",
        "plugins",
        "mods",
        "config",
        "cache",
        "DIM-1",
        "DIM1",
    }
)
_FILES = frozenset(
    {
        "level.dat",
        "level.dat_old",
        "session.lock",
        "map.sqlite",
        "players.sqlite",
        "auth.sqlite",
        "mod_storage.sqlite",
        "env_meta.txt",
        "map_meta.txt",
        "world.mt",
        "auth.txt",
        "ipban.txt",
        "CURRENT",
        "LOG",
        "LOCK",
    }
)
"""Names of folders and files that stay as they are."""
_ENDINGS = ("-journal", "-wal", "-shm")
_REGION = re.compile(r"[rc]\.-?\d+\.-?\d+\.(?:mca|mcr|mcc)|\d+\.(?:ldb|log|sst)|MANIFEST-\d+")
_ENDING = re.compile(
    r"\.(?:dat|dat_old|dat_new|mca|mcr|mcc|sqlite|sqlite3|db|ldb|txt|log|json|ya?ml|toml|properties|conf|cfg|mt|lua|jar|so|zip|gz|xz|zst|"
    r"tmp|new|old|bak|lock|png|ogg|iolog)$"
)
"""Endings that stay. Another ending may be a part of somebody's name."""


class Anonymous:
    """Replaces names, and remembers which word stands for which name."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._paths: dict[str, str] = {}

    def replace(self, requests: pa.Table) -> pa.Table:
        """Returns the same requests with other names in the columns file, renamed and volume."""
        for column, replaced in (("file", self.path), ("renamed", self.path), ("volume", self._volume)):
            encoded = pc.dictionary_encode(requests[column]).combine_chunks()
            words = pa.array([replaced(name) for name in encoded.dictionary.to_pylist()], pa.string())
            at = requests.schema.get_field_index(column)
            requests = requests.set_column(at, requests.schema.field(column), words.take(encoded.indices))
        return requests

    def path(self, path: str) -> str:
        """Returns a path in which all names are replaced but those that every server has."""
        if path not in self._paths:
            self._paths[path] = "/".join(self._name(part) for part in path.split("/"))
        return self._paths[path]

    def _name(self, name: str) -> str:
        ending = next((ending for ending in _ENDINGS if name.endswith(ending)), "")
        stem = name.removesuffix(ending)
        if stem in _FOLDERS or stem in _FILES or stem in ("", ".", "..") or _REGION.fullmatch(stem):
            return name
        number = _ENDING.search(stem)
        return f"{self._word('name', stem)}{number[0] if number else ''}{ending}"

    def _volume(self, name: str) -> str:
        return self._word("volume", name)

    def _word(self, kind: str, name: str) -> str:
        key = f"{kind} {name}"
        return self._words.setdefault(key, f"{kind}{len(self._words) + 1}")
