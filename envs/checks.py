# ruff: noqa: INP001, S603
"""Checks the project: `make test` runs every check, and `make check` runs those that a change can break.

Each check names the files that it depends on. `make check` compares the files with those that passed last, and leaves out checks
whose files are the same, and tests that are live, slow or about prose. `envs/selection.py` says which tests a file can break.
"""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import selection

ROOT = Path(__file__).resolve().parent.parent
_NATIVE, _STACKS = "--manifest-path=src/native/Cargo.toml", "--manifest-path=src/netcode/Cargo.toml"
_PYTHON = ("*.py", "*.pyi", "pyproject.toml", "envs/requirements.txt")
_GO_MODULES = ("src/players", "src/players/bedrock", "src/players/java", "src/servers/dragonfly")
_GO_SHARED = "src/players/internal/*"
_GO = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}


@dataclass(frozen=True)
class Check:
    """A command that must succeed, and the files whose change can make it fail."""

    command: tuple[str, ...]
    files: tuple[str, ...]
    """Patterns of `fnmatch`, in which `*` also stands for folders."""
    component: str = ""
    """Component of the Rust toolchain that it needs, and is left out without."""
    module: str = ""
    """Folder of the Go module that it needs, and is left out if what it builds on cannot be fetched."""

    def lack(self) -> str:
        """Returns why the check cannot run on this machine, or an empty text."""
        if self.component and not _succeeds([f"cargo-{self.component}", "--version"]):
            return f"this Rust toolchain has no {self.component} (Debian: rust-web-clippy, rustfmt-web; rustup component add)"
        if self.module not in ("", "src/players") and not _succeeds(["go", "-C", self.module, "mod", "download"]):
            return "the modules that it needs cannot be fetched"
        return ""


def _rust(name: str, manifest: str, tests: Sequence[str], lints: Sequence[str]) -> tuple[Check, ...]:
    files = (f"src/{name}/*",)
    return (
        Check(("cargo", "fmt", manifest, *lints[:1], "--check"), files, component="fmt"),
        Check(
            ("cargo", "clippy", manifest, "--locked", "--quiet", *lints[1:], "--", "-D", "warnings"), files, component="clippy"
        ),
        Check(("cargo", "test", manifest, "--locked", "--quiet", *tests), files),
    )


LANES: tuple[tuple[Check, ...], ...] = (
    (
        Check(("ruff", "check"), _PYTHON),
        Check(("ruff", "format", "--check"), _PYTHON),
        Check(("typos",), ("*",)),
        Check(("mypy", "--strict"), ("src/tickdisk/*.py", "src/tickdisk/*.pyi", "benchmarks/*.py", *_PYTHON[2:])),
        Check(("mypy", "--strict", *sorted(f"envs/{path.name}" for path in (ROOT / "envs").glob("*.py"))), ("envs/*.py",)),
    ),
    _rust("netcode", _STACKS, ("--release", "--workspace"), ("--all", "--release", "--workspace", "--all-targets")),
    _rust("native", _NATIVE, ("--no-default-features",), ("--all", "--all-targets")),
    (
        Check((sys.executable, "envs/checks.py", "gofmt"), ("src/players/*.go", "src/servers/*.go", "tests/goroutine/*.go")),
        *(
            Check(("go", "-C", module, word, "./..."), (f"{module}/*", _GO_SHARED), module=module)
            for module in _GO_MODULES
            for word in ("vet", "test")
        ),
    ),
    (
        Check(("snakefmt", "--check", "Snakefile", "workflow/rules"), ("Snakefile", "workflow/rules/*")),
        Check((sys.executable, "envs/checks.py", "snakemake-lint"), ("Snakefile", "workflow/rules/*", "workflow/profiles/*")),
    ),
)
"""Checks of one lane run one after another, because they share a cache, and side by side with those of other lanes."""


def _succeeds(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False, cwd=ROOT).returncode == 0
    except FileNotFoundError:
        return False


def run(command: Sequence[str], *, why_not: str = "") -> None:
    """Runs a command, or says why not, and ends the program with its exit code if it fails."""
    print(_heading(command, why_not), flush=True)
    if why_not:
        return
    began = time.monotonic()
    code = subprocess.run(command, stdin=subprocess.DEVNULL, check=False, cwd=ROOT, env={**os.environ, **_GO}).returncode
    print(_ending(began, code), end="", flush=True)
    if code:
        sys.exit(code)


def _heading(command: Sequence[str], why_not: str) -> str:
    title = " ".join(word if word != sys.executable else "python" for word in command)
    return f"== {title}: SKIPPED, {why_not}" if why_not else f"== {title}"


def _ending(began: float, code: int) -> str:
    seconds = time.monotonic() - began
    return (f"   {seconds:.0f} s\n" if seconds > 1 else "") + (f"   FAILED with exit code {code}\n" if code else "")


def side_by_side(lanes: Sequence[Sequence[Check]]) -> None:
    """Runs a lane of checks on each core, and prints what a lane says when it and those before it have ended.

    After the first failure no check begins any more, and the program ends with the exit code of that check.
    """
    has_failed = threading.Event()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for lane in [pool.submit(_run_lane, lane, has_failed) for lane in lanes]:
            said, code = lane.result()
            print(said, end="", flush=True)
            if code:
                sys.exit(code)


def _run_lane(lane: Sequence[Check], has_failed: threading.Event) -> tuple[str, int]:
    """Returns what the checks of a lane said, and the exit code of the one that failed, or 0."""
    said = ""
    for check in lane:
        if has_failed.is_set():
            break
        said += _heading(check.command, why_not := check.lack()) + "\n"
        if why_not:
            continue
        began, environment = time.monotonic(), {**os.environ, **_GO}
        done = subprocess.run(
            check.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", check=False, cwd=ROOT, env=environment,
        )  # fmt: skip
        said += done.stdout + _ending(began, done.returncode)
        if done.returncode:
            has_failed.set()
            return said, done.returncode
    return said, 0


def gofmt() -> None:
    """Names the Go files that are not formatted, and ends with 1 if there are any."""
    command = ["gofmt", "-l", "src/players", "src/servers", "tests/goroutine"]
    unformatted = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    if unformatted:
        sys.exit(f"{unformatted}not formatted; run gofmt -w")


_NO_CONTAINER = "Specify a conda environment or container for each rule.:"


def snakemake_lint() -> None:
    """Runs Snakemake's linter. Steps have no container each, because each would need rights (docs/reproduce.md)."""
    command = ["snakemake", "--lint"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=ROOT)
    advice = re.findall(r"^    \* (.+)$", done.stdout, re.MULTILINE)
    if done.returncode and set(advice) != {_NO_CONTAINER}:
        sys.exit(done.stdout)


def everything() -> None:
    """Runs every check and every test. Live tests run alone on the machine, and the other tests share its cores."""
    side_by_side(LANES)
    run(["pytest", "-m", "not live", "-n", "auto", "--maxprocesses=8", "--dist=loadfile"])
    is_able = os.geteuid() == 0 and Path("/dev/fuse").exists()
    run(
        ["pytest", "-m", "live"],
        why_not="" if is_able else "live tests start devices and servers, which needs root and /dev/fuse",
    )


def of_a_change(files: Mapping[str, str]) -> None:
    """Runs the quick checks and the tests that a change since the last success can break."""
    began, changed = time.monotonic(), selection.changed(files, selection.passed())
    print(f"check: {_counted(len(changed), 'file')} changed since the last success", flush=True)
    side_by_side([[check for check in lane if selection.matching(changed, check.files)] for lane in LANES])
    tests = selection.tests(changed)
    if tests:
        names = [f"tests/{name}.py" for name in tests]
        print(f"check: {_counted(len(tests), 'file')} of tests, of {len(selection.all_tests())}", flush=True)
        run(["pytest", "-m", "not live and not slow and not prose", "-n", "auto", "--maxprocesses=8", "--dist=loadfile", *names])
    print(f"check: passed after {time.monotonic() - began:.0f} s; `make test` also runs live and slow tests and those of prose")


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def main(words: Sequence[str]) -> None:
    """Runs what the command line names: `test`, `check`, or a helper."""
    helpers = {"gofmt": gofmt, "snakemake-lint": snakemake_lint}
    if len(words) == 1 and words[0] in helpers:
        helpers[words[0]]()
        return
    files = selection.state()
    if words == ["check"]:
        if not files:
            sys.exit("check: git does not list the files of this folder, so that nothing says what changed; run `make test`")
        of_a_change(files)
    else:
        everything()
    selection.remember(files)


if __name__ == "__main__":
    os.chdir(ROOT)
    main(sys.argv[1:])
