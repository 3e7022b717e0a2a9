"""The whole work of profiling a disk: its measurement, the fit of a model, the test of the model, and the file of the device."""

import datetime as dt
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickdisk import calibrate
from tickdisk.device import FILE, DeviceModel
from tickdisk.foundation import memory
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import write_text
from tickdisk.foundation.yaml_file import yaml_text
from tickdisk.profile.evidence import again, evidence, verdict
from tickdisk.profile.fit import fit
from tickdisk.profile.measure import FIT_DEPTHS, Measurements, Say, measure, rounds
from tickdisk.profile.target import source

_HEAD = """\
# A device measured by `tickdisk device profile`; `tickdisk device up FILE` brings it up, on any machine.
# fit: depth by depth, what was measured, how far the model is off (1 is all of it), and how far the rounds were from each other.
"""


@dataclass(frozen=True)
class Profile:
    """A device model of a disk, and the measurements that it was fitted to."""

    model: DeviceModel
    measured: Measurements


def profile(path: Path, output: Path, *, write: bool, seconds: float, size_bytes: int, say: Say = print) -> Profile:
    """Measures a disk, fits a device model to the measurements, and writes the device to the YAML file `output`.

    `path` is a folder, a file or a block device (`source` says what is refused), and `size_bytes` the size of the test file that
    is made in a folder. `seconds` is the time of each job in all rounds together. The file says what was measured, when, and with
    which kernel and which fio. It says nothing else of the machine. Raises TickdiskError if the path is refused, the file cannot
    be written, or fio fails.
    """
    if output.suffix != FILE:
        raise TickdiskError(f"{output}: the name of a device's file ends with {FILE}; give such a name")
    there = next(folder for folder in output.absolute().parents if folder.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise TickdiskError(f"{output} cannot be written, as {there} is no folder or is not writable; give another --output")
    name = re.sub(r"[^a-z0-9_-]+", "_", output.stem.lower()).strip("_") or "profiled"
    when = dt.datetime.now(dt.UTC)
    with source(path, write=write, size_bytes=size_bytes) as tested, memory.folder() as folder:
        measured = measure(tested.target, write=write, seconds=seconds, folder=folder, say=say)
        kind = tested.kind
    model = fit(measured, name)
    writes = (
        "reads, writes and flushes" if write else "reads; writes and flushes were not measured and are taken to be like reads"
    )
    model = model.model_copy(update={"fit": evidence(model, measured, FIT_DEPTHS)})
    model = model.model_copy(
        update={
            "description": f"profiled {kind}: {writes}",
            "source": (
                f"tickdisk device profile, {when:%Y-%m-%d %H:%M} UTC, Linux {platform.release()}, {calibrate.fio_version()}, "
                f"{rounds(seconds)} rounds of {seconds / rounds(seconds):.2g} s a job"
                f"; {again(measured)}; {verdict(model)}"
            ),
        }
    )
    write_text(output, text(model))
    return Profile(model, measured)


def text(model: DeviceModel) -> str:
    """Returns the text of a YAML file with one device, which `device.load_device` reads. Default values are left out."""
    values = model.model_dump(mode="json", exclude={"name"}, exclude_defaults=True)
    # In the YAML, each row of a table and each line of the fit is on a line of its own.
    return _HEAD + yaml_text({model.name: _whole(values)})


def _whole(value: Any) -> Any:
    """Returns a value in which whole numbers have no decimal point and tuples are lists."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {key: _whole(each) for key, each in value.items()}
        case list() | tuple():
            return [_whole(each) for each in value]
        case _:
            return value
