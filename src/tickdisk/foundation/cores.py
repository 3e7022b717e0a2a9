"""The record of the cores that a game server and the programs around it may use."""

from typing import Annotated

from pydantic import Field

from tickdisk.foundation.record import Record

_Numbers = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]


class Cores(Record):
    """The division of the cores while a game server is measured, by their numbers."""

    server: _Numbers
    """The cores of the server."""
    clients: _Numbers
    """The cores of the clients."""
    emulator: _Numbers
    """The cores of the emulator of the device."""

    @property
    def others(self) -> tuple[int, ...]:
        """The cores of the clients and the emulator, which captures and emulated networks use."""
        return tuple(sorted({*self.clients, *self.emulator}))
