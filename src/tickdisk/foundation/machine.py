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
"""Time in s after which a tool that does not answer is given up."""
_CAPABILITIES = {"NET_ADMIN": 12, "IPC_LOCK": 14, "SYS_ADMIN": 21, "SYS_NICE": 23}
"""Numbers of capabilities, which are bits in /proc/self/status."""


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

    def opens(self, path: str, mode: int = os.O_RDWR) -> bool:
        """Returns whether this process can open the device at `path`, relative to the root folder, for reading and writing.

        Another `mode` is os.O_RDONLY. In a container a device may be there that no process, not even root's, can open.
        """
        try:
            os.close(os.open(self.root / path, mode | os.O_CLOEXEC | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    def may_write(self, path: str) -> bool:
        """Returns whether this process may make files in the folder at `path`, relative to the root folder."""
        return os.access(self.root / path, os.W_OK)

    def names(self, folder: str, pattern: str) -> list[str]:
        """Returns the names in a folder that match a pattern. The folder is relative to the root folder."""
        return sorted(path.name for path in (self.root / folder).glob(pattern))

    def is_capable(self, capability: str) -> bool:
        """Returns whether this process has a capability of root, one of `_CAPABILITIES`. In a container root often has not."""
        words = next((line.split() for line in self.lines("proc/self/status") if line.startswith("CapEff:")), None)
        return self.user == 0 if words is None else bool(int(words[1], 16) >> _CAPABILITIES[capability] & 1)

    def succeeds(self, name: str, *arguments: str) -> bool:
        """Returns whether a tool is there and succeeds within 10 s."""
        tool = self.tool(name)
        try:
            return tool is not None and self._run(tool, *arguments).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False

    def _run(self, tool: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - the tool was found by us, the arguments are constants
            [tool, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_ANSWER_S,
            check=False,
        )

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
            answer = self._run(tool, argument)
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
