"""The program of one life of a store, which runs in a process of its own because tests kill it.

It is run by its path, and imports only the native core, so that it starts quickly: `child.py SETTING.json [RESULT.json]`.
"""

import json
import sys
from pathlib import Path

from tickdisk._native import Updates, store_live

REFUSED, NO_FOLDER = 3, 4
"""Exit codes for a folder without a state that can be trusted, and for one that cannot be read or written.

The last line of the error output is then the message.
"""


def main() -> None:
    """Plays the life that SETTING.json describes (see `Setting.as_json`), and writes its record to RESULT.json if that is given.

    `Played` says what the record holds.
    """
    setting = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    kind, *parameters = setting.pop("updates")
    folder, algorithm = setting.pop("folder"), setting.pop("algorithm")
    try:
        found, last, ticks, checkpoints = store_live(folder, algorithm, getattr(Updates, kind)(*parameters), **setting)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(REFUSED if isinstance(error, ValueError) else NO_FOLDER) from error
    if len(sys.argv) > 2:  # noqa: PLR2004 - an argument that may be missing
        result = {"found": found, "last": last, "ticks": ticks.hex(), "checkpoints": checkpoints.hex(), "memory": memory_bytes()}
        Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


def memory_bytes() -> int:
    """Returns the highest resident memory that this process has had so far."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()
