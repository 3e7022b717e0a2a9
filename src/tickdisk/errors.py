"""The one exception that a user is meant to read."""


class TickdiskError(Exception):
    """A failure that its reader can act on: one sentence with what is wrong, where (file, line, key) and what to do."""
