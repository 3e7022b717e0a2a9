"""Images of power cuts, which are taken in a server life while it goes on."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tickdisk import device
from tickdisk.experiment import PlannedLife


@dataclass(frozen=True)
class TakenCut:
    """The images that a power cut at one moment of a server life would have left on the devices of the life."""

    number: int
    """Number of the cut in the life, from 0."""
    due_ns: int
    """The planned time of the cut."""
    images: tuple[device.CutImage, ...]
    """An image of each device, that of the world first."""

    @property
    def cut_ns(self) -> int:
        """The time of the cut, which is that of the earlier image. Edits acknowledged until then are looked for after it."""
        return min(image.cut_ns for image in self.images)

    @property
    def late_ns(self) -> int:
        """Time from the planned to the actual cut. An image that is still being written delays the next cut."""
        return self.cut_ns - self.due_ns

    @property
    def apart_ns(self) -> int | None:
        """Time from the first to the last image of the cut, or None if there is one device."""
        times_ns = [image.cut_ns for image in self.images]
        return max(times_ns) - min(times_ns) if len(times_ns) > 1 else None


class CutImages:
    """Takes the images of a server life. `folder` lies in memory, and whoever made it removes it with the images."""

    disks: Sequence[device.MountedDevice] = ()
    """The devices of the life, once they are up."""

    def __init__(self, life: PlannedLife, folder: Path) -> None:
        self._life, self._folder = life, folder
        self.taken: list[TakenCut] = []

    def take(self, due_ns: int) -> None:
        """Takes an image of every device, as if the power of all were cut now, where it should have been cut at `due_ns`.

        All devices get their orders at once, because each fixes the content of its image when it gets the order, and writes the
        image afterwards.
        """
        number = len(self.taken)
        keep_share = self._life.keep_shares[number]

        def image(place: int) -> device.CutImage:
            path, seed = self._folder / f"image-{number}-{place}", seed_of(self._life, number, place)
            return self.disks[place].image_of_cut(path, keep_share=keep_share, seed=seed)

        with ThreadPoolExecutor(len(self.disks)) as threads:
            self.taken.append(TakenCut(number, due_ns, tuple(threads.map(image, range(len(self.disks))))))


def seed_of(life: PlannedLife, number: int, place: int) -> int:
    """Returns the seed that says which unflushed pages survive a power cut of a life on the device at `place`, from 0."""
    own = [life.trace_seed, *life.name.encode(), number, place]
    return int(np.random.SeedSequence(own).generate_state(1, np.uint64)[0])
