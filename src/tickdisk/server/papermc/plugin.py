"""Builds the plugin for PaperMC, against the libraries that the user's jar brings."""

import hashlib
import os
import subprocess
import zipfile
from pathlib import Path

from tickdisk.foundation import temporary
from tickdisk.foundation.errors import TickdiskError

SOURCES = Path("src/servers/papermc")
_SHARED = Path("src/servers/minestom/tickdisk")
"""Folder of the recorder, which needs no library."""
_SHARED_NAMES = ("Recorder.java", "NotStarted.java")
_COMPILE_S = 120
_MANIFEST = "Manifest-Version: 1.0\r\npaperweight-mappings-namespace: mojang\r\n\r\n"
"""It tells PaperMC that the plugin needs no renaming of classes."""


def plugin(java: Path, compiler: Path, libraries: Path) -> Path:
    """Returns the jar of the plugin, which is compiled if it is not there yet. Raises TickdiskError if it cannot be compiled."""
    sources = [*sorted((SOURCES / "tickdisk").glob("*.java")), *(_SHARED / name for name in _SHARED_NAMES)]
    jars = sorted(libraries.rglob("*.jar"))
    if not jars:
        raise TickdiskError(f"{libraries} has no library of PaperMC; let paper.jar unpack them once (-Dpaperclip.patchonly=true)")
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in (*sources, SOURCES / "plugin.yml")))
    digest.update("".join(path.name for path in jars).encode())
    jar = Path("build/papermc") / f"tickdisk-{digest.hexdigest()[:16]}.jar"
    if jar.exists():
        return jar
    with temporary.folder() as folder:
        options: list[str | Path] = ["-22", "-proc:none", "-nowarn", "-cp", os.pathsep.join(map(str, jars)), "-d", folder]
        command: list[str | Path] = [java, "-jar", compiler, *options, *sources]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_S, check=False)  # noqa: S603 - our own compiler
        if done.returncode != 0:
            raise TickdiskError(f"the plugin does not fit this version of PaperMC: {done.stderr.strip().splitlines()[-1]}")
        jar.parent.mkdir(parents=True, exist_ok=True)
        partial = jar.with_suffix(".partial")
        with zipfile.ZipFile(partial, "w") as packed:
            packed.writestr("META-INF/MANIFEST.MF", _MANIFEST)
            packed.write(SOURCES / "plugin.yml", "plugin.yml")
            for path in sorted(folder.rglob("*.class")):
                packed.write(path, path.relative_to(folder))
        partial.rename(jar)
    return jar
