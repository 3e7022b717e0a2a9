"""Reads counters of the system again and again while a server runs: processor times, memory, bytes and datagrams."""

import os
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import Self

import pandas as pd

from tickdisk.foundation import host
from tickdisk.netcode.namespaces import DEVICE, Namespace

PERIOD_S = 0.1
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
"""Length of a clock tick of `/proc/stat`."""


class Counters:
    """Counters that a thread of its own reads ten times a second, for the time of a `with` block.

    They are those of the device in the server's network `namespace`, of the processes `server`, `clients` and `link` (None for a
    plain pair), and of the busy time of `cores`. When a client has ended, what it had used at the last reading still counts.
    """

    def __init__(
        self, namespace: Namespace, server: int, clients: Collection[int], link: int | None, cores: Collection[int]
    ) -> None:
        self._namespace, self._server, self._clients, self._link = namespace, server, clients, link
        self._cores = {f"cpu{core}" for core in cores}
        self._rows: list[dict[str, int]] = []
        self._threads: list[tuple[int, str, int, int]] = []
        self._used: dict[str, dict[int, int]] = {"server": {}, "clients": {}, "link": {}}
        self._failure: Exception | None = None
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="counters", daemon=True)

    def __enter__(self) -> Self:
        self._rows.append(self._read())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_ending.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        self._rows.append(self._read())

    def table(self) -> pd.DataFrame:
        """Returns one row per reading: the time `at_ns`, and counters that only grow, apart from `server_memory_bytes`.

        The counters are processor times in ns (`server_ns`, `clients_ns`, `link_ns`, `all_cores_ns`), and
        bytes and datagrams of the server's device in both directions (`sent_bytes`, `sent_datagrams`, `received_bytes`,
        `received_datagrams`). The bytes of a plain pair include the 14 bytes of the Ethernet header.
        """
        return pd.DataFrame(self._rows.copy())  # pandas looks at a list more than once, and the thread goes on

    def threads(self) -> pd.DataFrame:
        """Returns one row per reading and thread: `at_ns`, `part` (server, clients or link), `thread` and its `cpu_ns` so far."""
        return pd.DataFrame(self._threads.copy(), columns=["at_ns", "part", "thread", "cpu_ns"])

    def _watch(self) -> None:
        try:
            while not self._is_ending.wait(PERIOD_S):
                self._rows.append(self._read())
        except Exception as failure:  # noqa: BLE001 - the thread that made this one raises it
            self._failure = failure

    def _read(self) -> dict[str, int]:
        at_ns = time.monotonic_ns()
        link = [] if self._link is None else [self._link]
        for part, pids in (("server", [self._server]), ("clients", self._clients), ("link", link)):
            used_ns = [own for pid in pids for own in _threads_ns(pid)]
            self._threads += [(at_ns, part, thread, used) for thread, used in used_ns]
            self._used[part].update(used_ns)  # a thread that has ended keeps what it had used
        return {
            "at_ns": at_ns,
            "server_ns": sum(self._used["server"].values()),
            "server_memory_bytes": _memory_bytes(self._server),
            "clients_ns": sum(self._used["clients"].values()),
            "link_ns": sum(self._used["link"].values()),
            "all_cores_ns": _busy_ns(self._cores),
            **_device(self._namespace.pid),
        }


def _threads_ns(pid: int) -> list[tuple[int, int]]:
    """Returns each thread of a process with the processor time in ns that it has used, or nothing if the process is gone."""
    try:
        threads = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    except FileNotFoundError:
        return []
    used_ns = [(thread, host.thread_cpu_ns(pid, thread)) for thread in threads]
    return [(thread, used) for thread, used in used_ns if used is not None]


def _memory_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _busy_ns(cores: Collection[str]) -> int:
    """Returns the time in ns for which some cores together have not been idle."""
    busy = 0
    for name, *words in map(str.split, Path("/proc/stat").read_text().splitlines()):
        if name in cores:
            # The times are user, nice, system, idle, iowait, irq, softirq and steal, and then those of guests again.
            values = [int(word) for word in words[:8]]
            busy += (sum(values) - values[3] - values[4]) * _TICK_NS
    return busy


def _device(pid: int) -> dict[str, int]:
    lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()
    values = next((line.split(":")[1].split() for line in lines if line.split(":")[0].strip() == DEVICE), ["0"] * 16)
    names = {"received_bytes": 0, "received_datagrams": 1, "sent_bytes": 8, "sent_datagrams": 9}
    return {name: int(values[place]) for name, place in names.items()}
