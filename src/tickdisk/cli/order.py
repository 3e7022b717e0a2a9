"""A command that shows its arguments in the right order if they were given in a wrong one."""

import itertools
import shlex
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperCommand
from typer.exceptions import TyperException

_MOST_WORDS = 5


class InOrder(TyperCommand):
    """A command with arguments of different types. The message about a wrong one shows an order in which they are right."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the words of a call, as the command itself does."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if (right := self._right(ctx, given)) is not None:
                error.message += f". Write: {ctx.command_path} {right}"
            raise

    def _right(self, ctx: Any, given: list[str]) -> str | None:
        """Returns the words in the first other order in which they can be parsed, or None."""
        for words in itertools.permutations(given) if len(given) <= _MOST_WORDS else ():
            with suppress(TyperException):
                super().parse_args(type(ctx)(self, parent=ctx.parent, info_name=ctx.info_name), list(words))
                return shlex.join(words)
        return None
