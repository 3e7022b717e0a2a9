"""A server around which the project has a program of its own, which the set-up builds from `src/servers`."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tickdisk.foundation.process import Child
from tickdisk.server.contract import Launch, Server, ServerProgram
from tickdisk.server.program import built, environment, log_lines
from tickdisk.server.world import Terrain, WorldFacts, WorldSpec


class BuiltServer(Server):
    """A kind of server for which the set-up builds a program of the project, with a library such as Dragonfly or Minestom in it.

    The program has the commands `generate`, which makes a world, and `serve`. All of a world follows from its spec.
    """

    version: ClassVar[tuple[str, str]]
    """File in `sources` that names the version of the library, and a regular expression whose first group is the version."""
    terrain: ClassVar[str]
    """Glob pattern of the files that hold terrain, relative to the folder of a world, such as `map/db/*`."""
    error: ClassVar[str]
    """Text that those lines of the server's log have which are errors. The message follows it."""

    def check(self) -> ServerProgram:
        """Returns the program that the set-up built for this server. Raises TickdiskError if it was not built."""
        name, pattern = self.version
        match = re.search(pattern, (self.sources / name).read_text(encoding="utf-8"))
        return built(self, match[1] if match else "of an unknown version")

    def identity(self) -> str:
        """Returns title and version. Results are also named by digests of sources and compilers, so no checksum is needed."""
        return f"{self.title} {self.check().version}"

    def errors(self, log: Path) -> list[str]:
        """Returns the messages of the errors in the server's log, in order. Raises TickdiskError if there is no log."""
        return [line.partition(self.error)[2] for line in log_lines(log) if self.error in line]

    def _generate(self, content: Path, spec: WorldSpec, scratch: Path, logs: Path, timeout_s: float) -> Terrain:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        result = scratch / "generated.json"
        options = {"world": content.resolve(), "seed": spec.seed, "edge-chunks": spec.edge_chunks, "output": result.resolve()}
        command = [self.check().binary, "generate", *(f"--{name}={value}" for name, value in options.items())]
        generated = self._generator(Launch(command, environment()), result, scratch / "server.log", logs, timeout_s)
        count, files = generated["chunks_generated"], content.glob(self.terrain)
        return Terrain(
            blocks_generated=count,
            blocks_stored=count,
            map_bytes=sum(path.stat().st_size for path in files),
            places=tuple((place["x"], place["y"], place["z"]) for place in generated["places"]),
        )

    def _launch(
        self, binary: str, world: Path, described: WorldFacts, port: int, folder: Path, settings: Mapping[str, str]
    ) -> Launch:
        places = folder / "places.txt"
        places.write_text(
            "".join(f"{x} {y} {z}\n" for x, y, z in (*described.places, *self.corners(described))), encoding="ascii"
        )
        options = {
            "address": f"127.0.0.1:{port}",
            "world": world.resolve(),
            "places": places.resolve(),
            "record": (folder / "ticks.csv").resolve(),
            "log": (folder / "server.log").resolve(),
            **settings,
        }
        return Launch([binary, "serve", *(f"--{name}={value}" for name, value in options.items())], environment())

    def _settings(self, save_period_s: float) -> dict[str, str]:
        return {"radius-chunks": str(self.radius), "save-period-s": f"{save_period_s:g}"}

    def _listens(self, child: Child, log: Path) -> bool:
        del log
        return child.tail(1).strip() == "ready"
