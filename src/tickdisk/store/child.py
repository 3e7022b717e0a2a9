"""A life of a store in a process of its own, which may be killed: `child.py SETTING.json [RESULT.json]`, run by path.

It imports nothing but the native core, so that it starts at once.
"""

import json
import sys
from pathlib import Path

from tickdisk._native import Updates, store_live


def main() -> None:
    """Plays; writes the tick found, the last one, and the packed tables as hexadecimal digits."""
    setting = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    kind, *parameters = setting.pop("updates")
    updates = getattr(Updates, kind)(*parameters)
    folder, algorithm = setting.pop("folder"), setting.pop("algorithm")
    found, last, ticks, checkpoints = store_live(folder, algorithm, updates, **setting)
    if len(sys.argv) > 2:  # noqa: PLR2004 - an argument that may be missing
        result = {"found": found, "last": last, "ticks": ticks.hex(), "checkpoints": checkpoints.hex(), "memory": memory_bytes()}
        Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


def memory_bytes() -> int:
    """Returns the most memory that this process has had."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()
