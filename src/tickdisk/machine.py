"""What a machine has; everything is looked up below one root, so that a test can describe a machine in a folder."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

_SYSTEM_FOLDERS = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin", "usr/games")
"""Also those that are often not on PATH: mkfs and losetup are in sbin, Debian's game servers in games."""
_ANSWER_S = 10.0


def _tool_folders() -> tuple[Path, ...]:
    """Returns where tools are looked for: the toolchains that set-up found, PATH, rustup's folder, the system's."""
    chosen = Path("build/path")
    words = [*(chosen.read_text(encoding="utf-8").strip().split(":") if chosen.exists() else ()), *os.get_exec_path()]
    return tuple(
        dict.fromkeys(
            [
                *(Path(word) for word in words if word),
                Path.home() / ".cargo/bin",
                *(Path("/") / folder for folder in _SYSTEM_FOLDERS),
            ]
        )
    )


def _user() -> int:
    return os.geteuid()


@dataclass(frozen=True)
class Machine:
    """The machine that is looked at: this one, unless told otherwise."""

    root: Path = Path("/")
    """Where /dev, /proc, /sys and /usr are."""
    project: Path = Path()
    """The project's folder."""
    user: int = field(default_factory=_user)
    """Effective user id."""
    folders: tuple[Path, ...] = field(default_factory=_tool_folders)
    """Folders that tools are looked for in, in this order."""

    def has(self, path: str) -> bool:
        """Returns whether `path`, relative to the root, exists."""
        return (self.root / path).exists()

    def may_use(self, path: str) -> bool:
        """Returns whether this process may read and write the file at `path`, relative to the root."""
        return os.access(self.root / path, os.R_OK | os.W_OK)

    def lines(self, path: str) -> list[str]:
        """Returns the lines of the file at `path`, relative to the root; none when it cannot be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []

    def tool(self, *names: str) -> Path | None:
        """Returns the first executable that has one of the names."""
        return next((folder / name for name in names for folder in self.folders if os.access(folder / name, os.X_OK)), None)

    def version(self, tool: Path, argument: str = "--version") -> str:
        """Returns the first dotted number that a tool prints when asked for its version, `?` when it says none."""
        try:
            said = subprocess.run(  # noqa: S603 - the tool was found by us, the argument is a constant
                [tool, argument], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ANSWER_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return "?"
        found = re.search(r"\d+(?:\.\d+)+", said.stdout + said.stderr)
        return found.group() if found else "?"

    def kernel_has(self, module: str) -> bool:
        """Returns whether the running kernel has a file system or driver, built in, loaded, or as a module that can be loaded."""
        loaded = any(line.split()[-1:] == [module] for line in self.lines("proc/filesystems")) or self.has(f"sys/module/{module}")
        folder = f"lib/modules/{os.uname().release}"
        return loaded or any(
            f"/{module}.ko" in line for name in ("modules.builtin", "modules.dep") for line in self.lines(f"{folder}/{name}")
        )
