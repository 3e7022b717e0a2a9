"""A database server that runs beside a game server, which keeps its world in it."""

import signal
from dataclasses import dataclass

from tickdisk.foundation.process import Child

_QUIT_S = 10.0


@dataclass(frozen=True)
class Database:
    """A PostgreSQL server that accepts connections. It is started before the game server and stopped after it."""

    child: Child
    version: str
    """Name and version of the program, as it says them itself."""

    def stop(self, timeout_s: float) -> list[str]:
        """Ends the database server in order (SIGINT), and kills it if it has not ended after `timeout_s` seconds.

        Returns the problems in words, which are an end before the signal, with an exit code other than 0, or too late.
        """
        ended_before = self.child.poll() is not None
        self.child.send(signal.SIGINT)
        code = self.child.wait(timeout_s)
        if code is None:
            self.kill()
            return [f"the database server did not end within {timeout_s:g} s of SIGINT and was killed"]
        unclean = f"the database server ended with exit code {code}{' before it was told to' if ended_before else ''}"
        return [unclean] if code != 0 or ended_before else []

    def kill(self) -> None:
        """Ends the database server at once, without saving anything (SIGQUIT), and kills it after 10 s.

        After SIGQUIT it still waits for the processes of its connections, so that none of them uses a file any more.
        """
        self.child.stop(_QUIT_S, signal.SIGQUIT)
