"""Checks whether a running game server is late, and whether it is the disk.

`find_servers` finds the servers of a machine. `look` captures one for a minute, with pauses that tell what the capture costs it.
`judge` makes the `Verdict`, a record, and `screen` puts the verdict into words.
"""

from tickdisk.check.anonymise import anonymised
from tickdisk.check.counters import counted
from tickdisk.check.find import KINDS, FoundServer, ServerKind, find_servers, server_of
from tickdisk.check.forecast import known_error
from tickdisk.check.held import Held, LockWatch
from tickdisk.check.influx import influx
from tickdisk.check.look import Look, Now, Show, look
from tickdisk.check.obstacle import obstacle
from tickdisk.check.pauses import pauses_of
from tickdisk.check.price import Interval, Meter, Phase, price_of
from tickdisk.check.record import Advice, Minute, Verdict
from tickdisk.check.verdict import explained, judge
from tickdisk.check.watch import LEAST_LATE, minutes
from tickdisk.check.words import MOST_LINES, screen

__all__ = [
    "KINDS",
    "LEAST_LATE",
    "MOST_LINES",
    "Advice",
    "FoundServer",
    "Held",
    "Interval",
    "LockWatch",
    "Look",
    "Meter",
    "Minute",
    "Now",
    "Phase",
    "ServerKind",
    "Show",
    "Verdict",
    "anonymised",
    "counted",
    "explained",
    "find_servers",
    "influx",
    "judge",
    "known_error",
    "look",
    "minutes",
    "obstacle",
    "pauses_of",
    "price_of",
    "screen",
    "server_of",
]
