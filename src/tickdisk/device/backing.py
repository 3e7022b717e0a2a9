"""The backing folder that is made for a tree whose user has given none."""

import os
import tempfile
from pathlib import Path

from tickdisk.device import record as records
from tickdisk.device.record import DeviceRecord
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.memory import MEMORY


def make_backing(record: DeviceRecord) -> Path:
    """Makes a new folder for the files of a device of the backend tree, and returns its path.

    The folder is on tmpfs, or beside the device's record if this process may not write to tmpfs. A folder on a disk serves as
    well, because its pages stay in the page cache while there is memory, and no sync ever waits for them.
    """
    where = MEMORY if os.access(MEMORY, os.W_OK | os.X_OK) else records.STATE
    try:
        return Path(tempfile.mkdtemp(prefix=_prefix(record), dir=where))
    except OSError as error:
        raise TickdiskError(f"cannot make a folder in {where} ({error.strerror}); give the tree a backing folder") from error


def made_backing(record: DeviceRecord) -> Path | None:
    """Returns the folder that `make_backing` made for the record's device, so that it can be removed with the device.

    It returns None if the folder does not exist, or if the user had given the folder, which is then never removed.
    """
    path = record.backing
    if path is None or not record.made_backing or path.parent not in (MEMORY, records.STATE):
        return None
    return path if path.name.startswith(_prefix(record)) and path.is_dir() and not path.is_symlink() else None


def _prefix(record: DeviceRecord) -> str:
    # The prefix differs from that of `temporary.folder`, which would remove this folder if a tree had a file named `.lock`.
    return f"tickdisk_{record.name}_"
