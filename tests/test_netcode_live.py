"""Network stacks in network namespaces: known loads are counted, links delay and lose, all stacks play, and nothing is left."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import for_release
from scipy.stats import binom

from tickdisk import netcode
from tickdisk.foundation import process
from tickdisk.netcode.counters import Counters
from tickdisk.netcode.namespaces import SERVER_ADDRESS, Namespace

pytestmark = pytest.mark.live

RECEIVE = """
import socket, sys, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind((sys.argv[1], 4100))
udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
print("ready", flush=True)
took = []
while True:
    data = udp.recv(2000)
    if data == b"end":
        break
    took.append(time.monotonic_ns() - int.from_bytes(data[:8], "little"))
print(*took)
"""
SEND = """
import socket, sys, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(int(sys.argv[2])):
    udp.sendto(time.monotonic_ns().to_bytes(8, "little") + bytes(int(sys.argv[3]) - 8), (sys.argv[1], 4100))
    time.sleep(0.0005)
time.sleep(0.2)
for _ in range(20):
    udp.sendto(b"end", (sys.argv[1], 4100))
"""


def exchange(network: netcode.Network, number: int, size: int, logs: Path) -> np.ndarray:
    """Sends datagrams of one size to the server's namespace. Returns how long each took that arrived, in ns."""
    words = [sys.executable, "-c", RECEIVE, SERVER_ADDRESS]
    with process.Child("receiver", network.server.command(words), logs) as receiver:
        netcode.namespaces.wait_until_ready(receiver)
        process.run(network.clients.command([sys.executable, "-c", SEND, SERVER_ADDRESS, str(number), str(size)]))
        assert receiver.wait(10) == 0
        return np.array(receiver.tail(1).split(), dtype=np.int64)


def counted(namespace: Namespace) -> dict[str, int]:
    with Counters(namespace, os.getpid(), (), None, {0}) as counters:
        pass
    return dict(counters.table().iloc[-1])


@pytest.mark.parametrize(("conditions", "header"), [(None, 42), (netcode.Conditions(), 28)])
def test_every_datagram_of_a_known_load_is_counted(conditions: netcode.Conditions | None, header: int, tmp_path: Path) -> None:
    """A datagram has 28 bytes before its content, and 14 more on a pair of Ethernet devices. 20 datagrams of 3 bytes end it."""
    with netcode.Network(tmp_path, conditions) as network:
        before = counted(network.server)
        took = exchange(network, 1000, 500, tmp_path)
        after = counted(network.server)
        assert len(took) == 1000
        assert after["received_datagrams"] - before["received_datagrams"] == 1020
        assert after["received_bytes"] - before["received_bytes"] == 1000 * (500 + header) + 20 * (3 + header)
        routes = process.run(network.server.command(["ip", "-json", "route"])) + process.run(
            network.clients.command(["ip", "-6", "address"])
        )
        assert "default" not in routes
        assert "inet6" not in routes
    if conditions is not None:
        carried = pd.read_csv(tmp_path / "link.csv").set_index("direction")
        assert carried.loc["to_server", ["packets", "lost", "overflowed"]].tolist() == [1020, 0, 0]


def test_a_link_delays_and_loses_as_it_is_told(tmp_path: Path) -> None:
    delay_ns, loss = 10_000_000, 0.05
    with netcode.Network(tmp_path, netcode.Conditions(delay_ms=10, loss=loss, seed=5)) as network:
        took = exchange(network, 2000, 100, tmp_path)
    assert took.min() >= delay_ns
    assert np.median(took) < 1.5 * delay_ns
    low, high = binom.interval(0.9999, 2000, loss)
    assert low <= 2000 - len(took) <= high
    carried = pd.read_csv(tmp_path / "link.csv").set_index("direction")
    assert 2000 - len(took) <= carried.loc["to_server", "lost"] <= 2020 - len(took)


@for_release  # a run at scale smoke checks the same of every stack
def test_all_stacks_play_without_a_lost_player(tmp_path: Path) -> None:
    for stack in netcode.stacks():
        attendance = netcode.Attendance((0, 10, 20), blocks=2, ramp_s=1.2, steady_s=1.1, is_rising=stack != "quic")
        life = netcode.live(netcode.Setting(stack, attendance), tmp_path / stack)
        assert life.lost == (), stack
        assert life.is_equal, stack
        steps = netcode.describe_steps(life).set_index("players")
        assert (steps["unanswered"] == 0).all(), stack
        assert steps.loc[0, ["sent_datagrams_per_s", "pings"]].tolist() == [0, 0], stack
        # Every player gets each update.
        assert steps.loc[20, "sent_datagrams_per_s"] >= 20 * 55, stack
        # Each player has placed two blocks in each step, and who has left is in the world no more.
        assert life.players["records"].max() == (20 if attendance.is_rising else 10) + 2 * 20 + 2 * 10, stack


def test_a_run_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    words = [
        "tickdisk",
        "netcode",
        "run",
        "kcp",
        "--players",
        "20",
        "--delay-ms",
        "5",
        "--steady-s",
        "30",
        "-o",
        str(tmp_path / "out"),
    ]
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    logs = tmp_path / "out/logs"
    until = time.monotonic() + 30
    while not (logs / "players_11.json").exists() and time.monotonic() < until:
        time.sleep(0.05)
    pids = [json.loads(path.read_text())["pid"] for path in logs.glob("*.json")]
    assert len(pids) == 6
    namespaces = {Path(f"/proc/{pid}/ns/net").readlink() for pid in pids} - {Path("/proc/self/ns/net").readlink()}
    assert len(namespaces) == 2
    run.send_signal(signal.SIGKILL)
    run.wait()
    until = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    there = set()
    for place in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            there.add(place.readlink())
        except OSError:
            continue
    assert not namespaces & there


@for_release
def test_the_traffic_of_a_game_server_is_counted_in_a_namespace_of_its_own() -> None:
    quicker = "from tickdisk import start; from tickdisk.run import traffic as t; t._IDLE_S = t._JOINS_S = 1; t._SETTLES_S = 2; "
    words = [sys.executable, "-c", f"{quicker}start.main()", "server", "traffic", "luanti", "--players", "3", "--seconds", "3"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    counted, head, without, with_players = said
    assert counted.startswith("Bytes and datagrams are those of both directions")
    assert head.split()[0] == "players"
    players, kb_per_s, datagrams_per_s, *_ = without.split()
    assert (players, float(kb_per_s), float(datagrams_per_s)) == ("0", 0, 0)
    players, kb_per_s, datagrams_per_s, each, _, pings, *_, unanswered = with_players.split()
    assert (players, int(pings) > 5, unanswered) == ("3", True, "0")
    assert float(each) == pytest.approx(float(kb_per_s) / 3, abs=0.01)
    assert float(datagrams_per_s) > 3
