"""The folder that a tree's files are in, where none was given: made, and told from everybody else's."""

import os
import tempfile
from pathlib import Path

from tickdisk.device import record as records
from tickdisk.device.record import Record
from tickdisk.errors import TickdiskError
from tickdisk.memory import MEMORY


def make_backing(record: Record) -> Path:
    """Returns a new folder for a tree: on tmpfs, or where this process may not write there, beside its record.

    A folder on a disk does as well: its pages stay in the page cache while there is memory, and are never waited for on a sync.
    """
    where = MEMORY if os.access(MEMORY, os.W_OK | os.X_OK) else records.STATE
    try:
        return Path(tempfile.mkdtemp(prefix=_prefix(record), dir=where))
    except OSError as error:
        raise TickdiskError(f"cannot make a folder in {where} ({error.strerror}); give the tree a backing folder") from error


def made_backing(record: Record) -> Path | None:
    """Returns the folder that was made for the record's tree; None when there is none, or somebody else's was given."""
    path = record.backing
    if path is None or not record.made_backing or path.parent not in (MEMORY, records.STATE):
        return None
    return path if path.name.startswith(_prefix(record)) and path.is_dir() and not path.is_symlink() else None


def _prefix(record: Record) -> str:
    # Not as folders in memory are called (`memory.folder`): a `.lock` among a tree's files would make it one that is left over.
    return f"tickdisk_{record.name}_"
