"""Answers what a machine has: devices, programs and their versions, kernel modules, and whether this user may use them.

`doctor` and the backends of emulated devices ask a `Machine`. It looks up /dev, /proc and /sys below its root folder and programs
in its list of folders. A test can therefore give a folder that plays the part of a machine.
"""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

_SYSTEM_FOLDERS = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin", "usr/games")
"""The system's folders of programs. Often sbin (mkfs, losetup) and games (Debian's game servers) are not on PATH."""
_ANSWER_S = 10.0
"""Time in s after which a tool that does not print its version is given up."""


def _tool_folders() -> tuple[Path, ...]:
    """Returns the folders of tools: the toolchains that the set-up found, PATH, rustup's folder and the system's folders."""
    recorded = Path("build/path")
    words = [*(recorded.read_text(encoding="utf-8").strip().split(":") if recorded.exists() else ()), *os.get_exec_path()]
    return tuple(
        dict.fromkeys(
            [
                *(Path(word) for word in words if word),
                Path(os.path.expanduser("~/.cargo/bin")),  # noqa: PTH111 - Path fails where a user has no home
                *(Path("/") / folder for folder in _SYSTEM_FOLDERS),
            ]
        )
    )


def _user() -> int:
    return os.geteuid()


@dataclass(frozen=True)
class Machine:
    """A machine that is asked for what it has, such as files, tools and kernel modules. By default, it is this one."""

    root: Path = Path("/")
    """Folder that contains /dev, /proc, /sys and /usr of the machine."""
    project: Path = Path()
    user: int = field(default_factory=_user)
    """User id that decides what the process may do."""
    folders: tuple[Path, ...] = field(default_factory=_tool_folders)
    """Folders that are searched for tools, in this order."""

    def has(self, path: str) -> bool:
        """Returns whether there is a file or folder at `path`, relative to the root folder."""
        return (self.root / path).exists()

    def may_use(self, path: str) -> bool:
        """Returns whether this process may read and write the file at `path`, relative to the root folder."""
        return os.access(self.root / path, os.R_OK | os.W_OK)

    def lines(self, path: str) -> list[str]:
        """Returns the lines of the file at `path`, relative to the root folder. The list is empty if the file cannot be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []

    def tool(self, *names: str) -> Path | None:
        """Returns the executable with the first of the `names` that any of the `folders` has, or None if there is none."""
        return next((folder / name for name in names for folder in self.folders if os.access(folder / name, os.X_OK)), None)

    def version(self, tool: Path, argument: str = "--version") -> str:
        """Returns the first number with dots that a tool prints, or `?` if it prints none within 10 s or cannot be run."""
        try:
            answer = subprocess.run(  # noqa: S603 - the tool was found by us, the argument is a constant
                [tool, argument],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_ANSWER_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return "?"
        match = re.search(r"\d+(?:\.\d+)+", answer.stdout + answer.stderr)
        return match.group() if match else "?"

    def kernel_has(self, module: str) -> bool:
        """Returns whether a module is built into the running kernel, is loaded or can be loaded."""
        loaded = any(line.split()[-1:] == [module] for line in self.lines("proc/filesystems")) or self.has(f"sys/module/{module}")
        folder = f"lib/modules/{os.uname().release}"
        return loaded or any(
            f"/{module}.ko" in line for name in ("modules.builtin", "modules.dep") for line in self.lines(f"{folder}/{name}")
        )
