"""Two network namespaces, one for the server and one for the clients, and the link between them.

A namespace lives as long as a process that does nothing but hold it. The kernel kills this process with the one that started it,
and then removes the namespace with all devices in it. Nothing is therefore left to sweep, even after `kill -9`.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child, run
from tickdisk.netcode.program import binary

SERVER_ADDRESS, CLIENTS_ADDRESS = "198.18.0.1", "198.18.0.2"
"""Addresses of both ends, from the range that is reserved for tests of networks (RFC 2544)."""
DEVICE = "link0"
"""Name of the network device in each namespace."""
_MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")
_OFFLOADS = ("tx", "rx", "sg", "tso", "gso", "gro")
_STARTS_S, _END_S = 5.0, 5.0


@dataclass(frozen=True)
class Conditions:
    """The conditions of the link, which hold for each direction."""

    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    """Largest time by which the delay of a packet is shorter or longer."""
    loss: float = 0.0
    """Share of the packets that are lost."""
    reordered: float = 0.0
    """Share of the packets that arrive without the delay, and so before others."""
    mbit_per_s: float | None = None
    """Bandwidth in Mbit/s, or None if it has no limit."""
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.jitter_ms <= self.delay_ms:
            raise TickdiskError(f"a jitter of {self.jitter_ms:g} ms needs a delay of at least as much; raise the delay")

    def options(self) -> list[str]:
        """Returns the options of the program `tickdisk-netcode link`."""
        values = {name: getattr(self, name) for name in ("delay_ms", "jitter_ms", "loss", "reordered", "mbit_per_s", "seed")}
        return [f"--{name.replace('_', '-')}={value}" for name, value in values.items() if value is not None]


@dataclass(frozen=True)
class Namespace:
    """One of the two network namespaces."""

    pid: int
    """Process that holds the namespace."""
    address: str

    @property
    def path(self) -> Path:
        """File of the namespace."""
        return Path(f"/proc/{self.pid}/ns/net")

    def command(self, words: Sequence[str | Path]) -> list[str | Path]:
        """Returns a command that runs `words` in this network namespace, and in no other namespace of its own."""
        return ["nsenter", f"--net={self.path}", "--", *words]


class Network:
    """Both namespaces with the link between them, for the time of a `with` block.

    With `conditions`, the link is a program that carries every packet between two TUN devices (`src/netcode/link`), and that runs
    on `cores`, or on all if that is None. Without them, it is a pair of virtual Ethernet devices in the kernel, with nothing
    between. The folder `logs` takes the records of the processes, and `link.csv`, the number of packets that the link carried.
    """

    def __init__(self, logs: Path, conditions: Conditions | None = None, cores: Sequence[int] | None = None) -> None:
        self._logs, self._conditions, self._cores = logs, conditions, cores
        self._resources = ExitStack()
        self.link: Child | None = None
        """Process of the link, or None if it is the plain pair."""

    def __enter__(self) -> Self:
        with self._resources:
            holders = [self._holder(name) for name in ("server_namespace", "clients_namespace")]
            self.server = Namespace(holders[0].pid, SERVER_ADDRESS)
            self.clients = Namespace(holders[1].pid, CLIENTS_ADDRESS)
            if self._conditions is None:
                self._join_by_pair()
            else:
                self._join_by_program(self._conditions)
            self._resources = self._resources.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def _holder(self, name: str) -> Child:
        """Starts a process that holds a new network namespace without a route, and waits until it has it."""
        child = self._resources.enter_context(Child(name, ["unshare", "--net", "sleep", "infinity"], self._logs))
        own, until = Path("/proc/self/ns/net").stat().st_ino, time.monotonic() + _STARTS_S
        while child.poll() is None and time.monotonic() < until:
            try:
                if Path(f"/proc/{child.pid}/ns/net").stat().st_ino != own:
                    run(["nsenter", f"--net=/proc/{child.pid}/ns/net", "sh", "-c", _WITHOUT_IPV6])
                    return child
            except FileNotFoundError:
                pass
            time.sleep(0.001)
        raise TickdiskError(f"a network namespace cannot be made ({child.tail() or 'it takes too long'}); run as root")

    def _join_by_pair(self) -> None:
        server, clients = self.server, self.clients
        peer = ["peer", "name", DEVICE, "address", _MACS[1], "netns", str(clients.pid)]
        run(server.command(["ip", "link", "add", "name", DEVICE, "address", _MACS[0], "type", "veth", *peer]))
        offloads = [word for name in _OFFLOADS for word in (name, "off")]
        for namespace, other, mac in ((server, clients, _MACS[1]), (clients, server, _MACS[0])):
            run(namespace.command(["ip", "address", "add", f"{namespace.address}/24", "dev", DEVICE]))
            run(namespace.command(["ethtool", "--offload", DEVICE, *offloads]))
            run(namespace.command(["ip", "link", "set", DEVICE, "up"]))
            run(namespace.command(["ip", "neighbour", "add", other.address, "lladdr", mac, "dev", DEVICE, "nud", "permanent"]))

    def _join_by_program(self, conditions: Conditions) -> None:
        for namespace, other in ((self.server, self.clients), (self.clients, self.server)):
            run(namespace.command(["ip", "tuntap", "add", "dev", DEVICE, "mode", "tun"]))
            run(namespace.command(["ip", "address", "add", namespace.address, "peer", other.address, "dev", DEVICE]))
            run(namespace.command(["ip", "link", "set", DEVICE, "up"]))
        ends = [f"--server-namespace={self.server.path}", f"--clients-namespace={self.clients.path}", f"--device={DEVICE}"]
        command: list[str | Path] = [binary(), "link", *ends, *conditions.options(), f"--output={self._logs / 'link.csv'}"]
        self.link = self._resources.enter_context(Child("link", command, self._logs, cores=self._cores))
        wait_until_ready(self.link)


def wait_until_ready(child: Child, timeout_s: float = _STARTS_S) -> None:
    """Waits until a line of a program's output is `ready`. Raises TickdiskError if it ends before, or takes longer."""
    until = time.monotonic() + timeout_s
    while "ready" not in child.log_path.read_text(encoding="utf-8", errors="replace").splitlines():
        if child.poll() is not None or time.monotonic() > until:
            raise TickdiskError(f"the {child.name} did not get ready: {child.tail(1) or f'it took over {timeout_s:g} s'}")
        time.sleep(0.002)


_WITHOUT_IPV6 = "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6"
