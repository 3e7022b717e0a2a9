"""Describes a run as an RO-Crate: the workflow, what it read and made, when, on which machines, and with which programs.

`write_crate` writes `ro-crate-metadata.json` into the results, which become a crate of the profile Workflow Run Crate.
"""

from tickdisk.crate.write import write_crate

__all__ = ["write_crate"]
