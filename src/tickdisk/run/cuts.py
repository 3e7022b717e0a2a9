"""Images of power cuts, which are taken in a server life while it goes on."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tickdisk import device
from tickdisk.run.stage import Stage


@dataclass(frozen=True)
class TakenCut:
    """The images that a power cut at one moment of a server life would have left on the devices of the life."""

    number: int
    """Number of the cut in the life, from 0."""
    images: tuple[device.CutImage, ...]
    """An image of each device, that of the world first. They are taken one right after the other."""

    @property
    def cut_ns(self) -> int:
        """The time of the cut, which is that of the first image. Edits acknowledged until then are looked for after it."""
        return min(image.cut_ns for image in self.images)


class CutImages:
    """Takes the images of a server life, and removes their files at the end of a `with` block."""

    disks: Sequence[device.MountedDevice] = ()
    """The devices of the life, once they are up."""

    def __init__(self, stage: Stage) -> None:
        self._folder = stage.folder / "images"
        self.taken: list[TakenCut] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def take(self) -> None:
        """Takes an image of every device, as if the power of all were cut now."""
        self._folder.mkdir(exist_ok=True)
        number = len(self.taken)
        images = [disk.image_of_cut(self._path(number, place)) for place, disk in enumerate(self.disks)]
        self.taken.append(TakenCut(number, tuple(images)))

    def _path(self, number: int, place: int) -> Path:
        return self._folder / f"{number}-{place}"
