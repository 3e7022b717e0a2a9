"""Prints how far a command has come."""


def say(line: str) -> None:
    """Prints a line of progress at once, also if the output is no terminal."""
    print(line, flush=True)
