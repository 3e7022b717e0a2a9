# ruff: noqa: INP001, S603
"""Runs the commands of the set-up, with their output in `build/logs/`; standard library only."""

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"


class SetupError(Exception):
    """A failed step, with advice on what to do about it."""


class DownloadError(SetupError):
    """A failed download. An optional program is left out then."""


def run(
    name: str, command: Sequence[str | Path], advice: str, *, environment: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> None:
    """Runs a command with its output in `build/logs/NAME.log`; SetupError shows the end of the output and `advice`."""
    log = BUILD / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        out.write(f"$ {' '.join(map(str, command))}\n".encode())
        out.flush()
        try:
            code = subprocess.run(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**os.environ, **(environment or {})},
                check=False,
            ).returncode
        except OSError as error:
            raise SetupError(f"{command[0]}: {error.strerror}; {advice}") from error
    if code:
        end = "\n".join(f"    {line}" for line in log.read_text(errors="replace").splitlines()[-15:])
        words = " ".join(map(str, command[:4]))
        raise SetupError(f"`{words} ...` ended with {code}; {advice}\n{end}\n    (all of it: {log.relative_to(ROOT)})")


@contextlib.contextmanager
def downloading() -> Iterator[None]:
    """Turns a SetupError in the block into a DownloadError."""
    try:
        yield
    except SetupError as error:
        raise DownloadError(str(error)) from error


def output(*command: str | Path) -> str:
    """Returns what a command prints, empty when it fails or does not exist."""
    try:
        return subprocess.run(
            [str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def version(text: str) -> tuple[int, ...]:
    """Returns the first dotted number in `text` as integers, () when there is none."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def least(path: Path, pattern: str) -> tuple[int, ...]:
    """Returns the version that `pattern` finds in the file at `path`."""
    found = re.search(pattern, path.read_text(), re.MULTILINE)
    if not found:
        raise SetupError(f"{path.relative_to(ROOT)} does not say which version it needs ({pattern})")
    return version(found.group(1))
