"""The emulator's own process, started by file name so that it loads nothing else. Rust threads serve; this one takes orders."""

import argparse
import json
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

from tickdisk import _native

_POWER_MANAGEMENT = Path("/dev/cpu_dma_latency")
_LOOK_S = 1.0
"""How often it looks whether its mount was taken away."""


def main() -> None:
    """Mounts the disk, listens, and ends when told to or when the mount is gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mount-point", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--size-bytes", type=int, required=True)
    parser.add_argument("--folder", help="Serve a tree of files, which are here, instead of a disk.")
    parser.add_argument("--log")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--volatile", action="store_true")
    arguments = parser.parse_args()
    # Signals go to whole process groups; who started us unmounts, and needs us for that.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    awake = _keep_cores_awake()
    where = (arguments.mount_point, arguments.source)
    if arguments.folder is None:
        disk = _native.Disk(*where, arguments.size_bytes, arguments.log, arguments.volatile)
    else:
        disk = _native.Disk.tree(*where, arguments.folder, arguments.log)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(arguments.socket)
        listener.listen()
        listener.settimeout(_LOOK_S)
        try:
            while not disk.has_ended():
                if not _serve(disk, listener, awake=awake is not None):
                    break
        finally:
            disk.close()


def _keep_cores_awake() -> int | None:
    """Returns a descriptor that, while open, keeps idle cores from sleeping (Linux PM QoS); None where there is no such thing.

    Waking a sleeping core costs a request 30 to 150 us, the more the longer it slept: the emulator's own latency would depend on
    the latency that it emulates, and on how busy the server is.
    """
    try:
        descriptor = os.open(_POWER_MANAGEMENT, os.O_WRONLY | os.O_CLOEXEC)
        os.write(descriptor, bytes(4))
    except OSError:
        return None
    return descriptor


def _serve(disk: _native.Disk, listener: socket.socket, *, awake: bool) -> bool:
    """Answers the next request, if one comes; returns False for the order to quit, answered when the log is complete."""
    try:
        connection, _ = listener.accept()
    except TimeoutError:
        return True
    except OSError:  # every descriptor is taken, by files of a tree: those who use the disk must not lose it for that
        time.sleep(_LOOK_S)
        return True
    with connection:
        connection.settimeout(_LOOK_S)
        try:
            with connection.makefile("rb") as lines:
                line = lines.readline()
            if not line.endswith(b"\n"):
                return True  # the one who asked died before it was said
            request = json.loads(line)
            what = request.pop("do")
            connection.sendall(json.dumps(_answer(disk, what, request, awake=awake)).encode() + b"\n")
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return True  # the one who asked is gone, or none of ours
    return bool(what != "quit")


def _answer(  # noqa: PLR0911 - one answer a request
    disk: _native.Disk, what: str, arguments: dict[str, Any], *, awake: bool
) -> dict[str, Any]:
    try:
        match what:
            case "set":
                number, effective_ns = disk.set(**arguments)
                return {"number": number, "effective_ns": effective_ns}
            case "stall":
                return {"armed_ns": disk.stall(**arguments)}
            case "cut":
                return disk.cut(**arguments)
            case "power_on":
                number, effective_ns = disk.power_on()
                return {"number": number, "effective_ns": effective_ns}
            case "watch":
                disk.watch(**arguments)
                return {}
            case "cool":
                disk.cool()
                return {}
            case "status":
                threads = _cpu_ns()
                return {**disk.status(), "cpu_ns": sum(threads.values()), "cpu_ns_by_thread": threads, "cores_awake": awake}
            case "quit":
                disk.close()
                return {}
            case _:
                return {"error": f"unknown request {what}"}
    except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
        return {"error": str(error)}


def _cpu_ns() -> dict[str, int]:
    """CPU time of every thread but this one, by name (first field of schedstat: time spent on a core)."""
    used: dict[str, int] = {}
    for task in Path("/proc/self/task").iterdir():
        if int(task.name) != os.getpid():
            name = (task / "comm").read_text(encoding="ascii").strip()
            used[name] = used.get(name, 0) + int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return used


if __name__ == "__main__":
    main()
