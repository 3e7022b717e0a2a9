"""Makes backups of a part of a world on its own disk, one after another, as an operator's job would."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from tickdisk.experiment import Copying
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child

_STOP_S = 5.0
_IDLE = ("ionice", "-c", "3", "nice", "-n", "19")
_RECORDS_PER_MB = 100
"""Records of 10 kB of tar in a megabyte. tar rests after each of them, as no option limits its rate."""
_AGAIN = """
source=$1 target=$2
shift 2
trap 'trap "" TERM; kill -TERM 0; wait; exit 0' TERM
setpriv --pdeathsig KILL sh -c 'while sleep 0.5; do find "$0" -type f -exec sync {} + 2>/dev/null; done' "$target" &
while :; do
  rm -rf "$target"; mkdir "$target"
  for file in "$source"/*; do dd if="$file" iflag=nocache count=0 status=none || exit 1; done
  setpriv --pdeathsig KILL "$@" & wait $! || exit 1
  setpriv --pdeathsig KILL find "$target" -type f -exec sync {} + & wait $! || exit 1
  echo whole
done
"""
"""A program of the shell that makes a backup again and again, in a process group of its own, and writes a line after each.

The files are dropped from memory before each backup, as they stand for the part of a world that no memory holds. What a backup
has written goes to the disk every half second, as the kernel would keep it for longer than the backup exists."""


class Backups:
    """The backups of a life. The files in a folder are copied into a folder beside it."""

    def __init__(self, source: Path, limit_mb_per_s: float, logs: Path, cores: Sequence[int]) -> None:
        self._source, self._limit, self._logs, self._cores = source, limit_mb_per_s, logs, cores
        self._target = source.parent / "backup"
        self._running: Child | None = None
        self._made = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def begin(self, way: Copying | None) -> None:
        """Ends the backup that is being made, if any, and begins one in another way, or none."""
        self.end()
        if way is not None:
            prefix = _IDLE if way.endswith("_idle") else ()
            command = ["setsid", *prefix, "sh", "-c", _AGAIN, "backup", self._source, self._target, *self._command(way)]
            self._running = Child(f"backup{self._made}", command, self._logs, cores=self._cores)
            self._made += 1

    def alive(self) -> bool:
        """Returns whether the backup still runs, or none was begun."""
        return self._running is None or self._running.poll() is None

    def end(self) -> None:
        """Ends the backup that is being made, and removes what it wrote."""
        if self._running is not None:
            self._running.stop(_STOP_S)
            self._running = None
            with suppress(FileNotFoundError):
                shutil.rmtree(self._target)

    def _command(self, way: Copying) -> list[str]:
        """Returns the command that makes one backup. Raises TickdiskError if its program is not installed."""
        program, _, remedy = way.partition("_")
        if shutil.which(program) is None:
            raise TickdiskError(f"{program}, which makes the backup {way}, is not installed; `make setup` installs it")
        if program == "rsync":
            return ["rsync", "--archive", "--checksum", str(self._source), f"{self._target}/"]
        rest = f"--checkpoint-action=exec=sleep {1 / self._limit:.3f}"
        limit = [f"--checkpoint={_RECORDS_PER_MB}", rest] if remedy == "limited" else []
        return ["tar", "--create", "--absolute-names", *limit, f"--file={self._target}/world.tar", str(self._source)]
