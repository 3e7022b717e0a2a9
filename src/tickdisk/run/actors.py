"""The device's emulator, the server and the players, which all have to stay alive while a life is played."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tickdisk import device, process, server
from tickdisk.errors import TickdiskError
from tickdisk.run.judge import InstrumentError

_CHECK_PERIOD_S = 0.1
_STOP_S = 10.0
_ORDERLY = (None, 0, 3)
"""Exit codes of players that have recorded every action: still playing, ended, or ended because none of them could join."""


class ServerEndedError(TickdiskError):
    """The server ended by itself in the middle of a life. A slow disk may have caused that, so the life is a result."""


@dataclass(frozen=True)
class Actors:
    """The device, the server and the players of a life."""

    disk: device.MountedDevice
    running: server.RunningServer
    players: process.Child

    def check(self, *, may_have_ended: bool = True) -> None:
        """Checks that all three are alive. Players that have recorded every action may have ended if `may_have_ended`.

        Raises ServerEndedError if the server has ended, and InstrumentError if the emulator or the players have.
        """
        check_device(self.disk)
        if not self.running.alive():
            raise ServerEndedError(f"the server ended in the middle of the run; its last words: {self.running.last_words()}")
        self._check_players()
        if not may_have_ended and self.players.poll() == 0:
            raise InstrumentError("the players ended before the life did, with exit code 0; run the same command again")

    def wait_until(self, at_ns: int) -> None:
        """Sleeps until `at_ns` (CLOCK_MONOTONIC). Raises the errors of `check` if one of them ends meanwhile."""
        while (left_ns := at_ns - time.monotonic_ns()) > 0:
            time.sleep(min(left_ns / 1e9, _CHECK_PERIOD_S))
            self.check(may_have_ended=False)

    def finish(self, until_ns: int) -> None:
        """Waits for the players to end. At `until_ns`, players that are still busy are interrupted and record every action."""
        while self.players.wait(_CHECK_PERIOD_S) is None and time.monotonic_ns() < until_ns:
            self.check()
        if self.players.poll() is None:
            self.players.stop(_STOP_S)
        self.check()

    def end_players(self) -> None:
        """Ends the players after the server has ended. They record every action."""
        self.players.stop(_STOP_S)
        self._check_players()

    @contextmanager
    def explained_by_its_end(self) -> Iterator[None]:
        """Raises ServerEndedError instead of an error inside the block if the server has ended, because its end explains both."""
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
    """Raises InstrumentError if the device's emulator has ended."""
    if not disk.alive():
        raise InstrumentError("the device's emulator ended in the middle of the run; run the same command again")


@contextmanager
def instruments(disk: device.MountedDevice | None = None) -> Iterator[None]:
    """Turns every error inside the block into InstrumentError. If the emulator of `disk` has ended, the error says so."""
    try:
        yield
    except InstrumentError:
        raise
    except TickdiskError as error:
        if disk is not None:
            check_device(disk)
        raise InstrumentError(str(error)) from error
