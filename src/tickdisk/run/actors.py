"""The actors of a life, which must stay alive: the device's emulator, the server, the players."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tickdisk import device, process, server
from tickdisk.errors import TickdiskError
from tickdisk.run.judge import SpoiltLifeError

_LOOK_S = 0.1
_STOP_S = 10.0
_AS_TOLD = (None, 0, 3)
"""Exit codes of players that have a record of every action: still playing, ended, ended without one who could join."""


class ServerEndedError(TickdiskError):
    """The server ended by itself in the middle of a life, which a slow disk may have caused: the life is a result."""


@dataclass(frozen=True)
class Actors:
    """The three must stay alive while a life is played."""

    disk: device.MountedDevice
    running: server.RunningServer
    players: process.Child

    def check(self, *, may_have_ended: bool = True) -> None:
        """Checks that all three are alive. Players that have recorded every action may have ended, if `may_have_ended`.

        Raises SpoiltLifeError if the emulator or the players have ended otherwise, and ServerEndedError if the server has ended.
        """
        check_device(self.disk)
        if not self.running.alive():
            raise ServerEndedError(f"the server ended in the middle of the run; its last words: {self.running.last_words()}")
        self._check_players()
        if not may_have_ended and self.players.poll() == 0:
            raise SpoiltLifeError("the players ended before the life did, with exit code 0; run the same command again")

    def wait_until(self, at_ns: int) -> None:
        """Sleeps until `at_ns` (CLOCK_MONOTONIC). An actor that ends meanwhile is an error, as in `check`."""
        while (left_ns := at_ns - time.monotonic_ns()) > 0:
            time.sleep(min(left_ns / 1e9, _LOOK_S))
            self.check(may_have_ended=False)

    def finish(self, until_ns: int) -> None:
        """Waits for the players to end; those that are still busy at `until_ns` are interrupted, and account for every action."""
        while self.players.wait(_LOOK_S) is None and time.monotonic_ns() < until_ns:
            self.check()
        if self.players.poll() is None:
            self.players.stop(_STOP_S)
        self.check()

    def dismiss(self) -> None:
        """Ends the players of a server that has ended; they account for every action."""
        self.players.stop(_STOP_S)
        self._check_players()

    @contextmanager
    def told_apart(self) -> Iterator[None]:
        """Says of whatever fails inside because the server has ended that this is why."""
        try:
            yield
        except ServerEndedError:
            raise
        except TickdiskError:
            self.check()
            raise

    def _check_players(self) -> None:
        if (code := self.players.poll()) not in _AS_TOLD:
            raise SpoiltLifeError(f"the players ended with exit code {code}; their last words: {self.players.tail(3)}")


def check_device(disk: device.MountedDevice) -> None:
    """Raises SpoiltLifeError when the device's emulator has ended."""
    if not disk.alive():
        raise SpoiltLifeError("the device's emulator ended in the middle of the run; run the same command again")


@contextmanager
def instruments(disk: device.MountedDevice | None = None) -> Iterator[None]:
    """Makes of every failure inside one of an instrument: SpoiltLifeError. Where there is a `disk` it may be the cause."""
    try:
        yield
    except SpoiltLifeError:
        raise
    except TickdiskError as error:
        if disk is not None:
            check_device(disk)
        raise SpoiltLifeError(str(error)) from error
