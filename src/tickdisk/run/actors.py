"""Watches the emulator of the device, the server and the players, which all have to run as long as a life is played."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tickdisk import device, server
from tickdisk.foundation import process
from tickdisk.foundation.errors import TickdiskError
from tickdisk.run.judge import InstrumentError

if TYPE_CHECKING:
    from tickdisk.run.neighbours import Neighbours

_CHECK_PERIOD_S = 0.1
_STOP_S = 10.0
_ORDERLY = (None, 0, 3)
"""Exit codes of players that have recorded every action: still playing, ended, or ended because none of them could join."""


class ServerEndedError(TickdiskError):
    """The game server ended by itself in the middle of a server life.

    A slow disk may have caused that, so the life is kept as a result and is not run again.
    """


@dataclass(frozen=True)
class Actors:
    """The three parts that have to run as long as a server life is played: the device, the game server and the clients.

    Its methods wait in steps of 0.1 s, so that the end of one of the parts is seen soon.
    """

    disks: tuple[device.MountedDevice, ...]
    """The devices, of which the first has the world."""
    running: server.RunningServer
    players: process.Child
    """The process of the clients, in which all players run."""
    neighbours: "Neighbours | None" = None
    """The further servers on the device, if any."""

    @property
    def disk(self) -> device.MountedDevice:
        """The device that has the world."""
        return self.disks[0]

    def check(self, *, may_have_ended: bool = True) -> None:
        """Raises ServerEndedError if the server has ended, and InstrumentError if the emulator or the clients have.

        Clients that have come to the end of their trace exit with code 0, which is in order if they `may_have_ended`.
        """
        for disk in self.disks:
            check_device(disk)
        if self.neighbours is not None:
            self.neighbours.check()
        if not self.running.alive():
            raise ServerEndedError(f"the server ended in the middle of the run; its last words: {self.running.last_words()}")
        self._check_players()
        if not may_have_ended and self.players.poll() == 0:
            raise InstrumentError("the players ended before the life did, with exit code 0; run the same command again")

    def wait_until(self, at_ns: int) -> None:
        """Sleeps until `at_ns` (CLOCK_MONOTONIC). Raises an error of `check` if one of the three parts ends before."""
        while (left_ns := at_ns - time.monotonic_ns()) > 0:
            time.sleep(min(left_ns / 1e9, _CHECK_PERIOD_S))
            self.check(may_have_ended=False)

    def finish(self, until_ns: int) -> None:
        """Waits for the clients to come to the end of their trace, at most until `until_ns` (CLOCK_MONOTONIC).

        Clients that are still busy then get SIGTERM, on which they write the record of every action. Raises an error of `check`.
        """
        while self.players.wait(_CHECK_PERIOD_S) is None and time.monotonic_ns() < until_ns:
            self.check()
        if self.players.poll() is None:
            self.players.stop(_STOP_S)
        self.check()

    def end_players(self) -> None:
        """Ends the clients, after the server has ended by itself. Raises InstrumentError if they end in disorder."""
        self.players.stop(_STOP_S)
        self._check_players()

    @contextmanager
    def explained_by_its_end(self) -> Iterator[None]:
        """Replaces an error inside the block by the ServerEndedError of `check` if the server has ended.

        Clients may fail because their server ended, and then its end is the cause. Other errors pass unchanged.
        """
        try:
            yield
        except ServerEndedError:
            raise
        except TickdiskError:
            self.check()
            raise

    def _check_players(self) -> None:
        if (code := self.players.poll()) not in _ORDERLY:
            raise InstrumentError(f"the players ended with exit code {code}; their last words: {self.players.tail(3)}")


def check_device(disk: device.MountedDevice) -> None:
    """Raises InstrumentError if the process that emulates the device has ended."""
    if not disk.alive():
        raise InstrumentError("the device's emulator ended in the middle of the run; run the same command again")


@contextmanager
def instruments(*disks: device.MountedDevice) -> Iterator[None]:
    """Turns every TickdiskError inside the block into InstrumentError, so that the server life is run again.

    If the emulator of one of the `disks` has ended, the error says so, because that explains other failures.
    """
    try:
        yield
    except InstrumentError:
        raise
    except TickdiskError as error:
        for disk in disks:
            check_device(disk)
        raise InstrumentError(str(error)) from error
