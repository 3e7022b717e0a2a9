"""The process of the emulator, which is started by the name of this file so that it imports no other part of the package.

Threads in Rust serve the requests of the device. The main thread in Python takes orders from the control socket.
"""

import argparse
import json
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tickdisk import _native
from tickdisk.foundation.awake import keep_cores_awake

_LOOK_S = 1.0
"""Seconds between two looks at whether the mount was taken away. They also limit the wait for a request on the socket."""
_NICE = 10
"""How much the thread that writes an image gives way to programs that are measured meanwhile, as for nice(2)."""


def main() -> None:
    """Runs the emulator with the arguments that `start_emulator` gives, until the order to quit, or until the mount is gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mount-point", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--size-bytes", type=int, required=True)
    parser.add_argument("--folder", help="Serve the tree of files in this folder, and no disk.")
    parser.add_argument("--log")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--volatile", action="store_true")
    arguments = parser.parse_args()
    # A signal goes to a whole process group. The process that started this one unmounts the device, and needs this one for that.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    awake = keep_cores_awake()
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


def _serve(disk: _native.Disk, listener: socket.socket, *, awake: bool) -> bool:
    """Answers the next request if one comes within `_LOOK_S`. Returns False after the order to quit, and True otherwise."""
    try:
        connection, _ = listener.accept()
    except TimeoutError:
        return True
    except OSError:  # The files of a tree may have taken every descriptor. The device's users must not lose it because of that.
        time.sleep(_LOOK_S)
        return True
    with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError), connection:
        # The client may be gone, or not speak this protocol, or the system may have no room for another thread.
        connection.settimeout(_LOOK_S)
        with connection.makefile("rb") as lines:
            line = lines.readline()
        if not line.endswith(b"\n"):
            return True  # The client died before its request was complete.
        request = json.loads(line)
        what = request.pop("do")
        if what == "image":  # Writing an image takes long, and other orders must not wait for it.
            threading.Thread(target=_write_image, args=(disk, connection.dup(), request)).start()
            return True
        connection.sendall(json.dumps(_answer(disk, what, request, awake=awake)).encode() + b"\n")
        return bool(what != "quit")
    return True


def _write_image(disk: _native.Disk, connection: socket.socket, arguments: dict[str, Any]) -> None:
    """Writes an image of a power cut into the empty file that the client made, and removes the file if the client is gone."""
    os.nice(_NICE)  # On Linux this holds for the calling thread only.
    with connection:
        reply = _answer(disk, "image", arguments, awake=False)
        try:
            connection.sendall(json.dumps(reply).encode() + b"\n")
        except OSError:
            with suppress(OSError, TypeError, KeyError):
                Path(arguments["path"]).unlink()


def _answer(  # noqa: C901, PLR0911 - one answer a request
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
            case "image":
                return disk.image(**arguments)
            case "load":
                disk.load(**arguments)
                return {}
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
    """Returns the CPU time in ns of every thread of the device, by the thread's name (the first field of schedstat).

    Threads that Python started, such as this one, have the name of the process and are left out.
    """
    own, used = Path("/proc/self/comm").read_text(encoding="ascii").strip(), dict[str, int]()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # The thread may have just ended.
            name = (task / "comm").read_text(encoding="ascii").strip()
            if name != own:
                used[name] = used.get(name, 0) + int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return used


if __name__ == "__main__":
    main()
