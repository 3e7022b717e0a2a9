"""The order of arms over lives: in a Williams square every arm stands in every place, and follows every other, equally often."""

from collections.abc import Callable, Sequence

import numpy as np


def williams_square(arms: int) -> list[list[int]]:
    """Returns a Williams square, whose rows have the numbers 0 to arms - 1, from which `balanced_order` takes its orders.

    There are `arms` rows for an even number of arms, and twice as many for an odd number. Over all rows every number stands in
    every place equally often, and every number directly follows every other equally often (Williams 1949, "Experimental designs
    balanced for the estimation of residual effects of treatments").
    """
    first = [(step + 1) // 2 if step % 2 else -(step // 2) for step in range(arms)]
    rows = [[(number + shift) % arms for number in first] for shift in range(arms)]
    return rows if arms % 2 == 0 else [*rows, *(row[::-1] for row in rows)]


def balanced_order(arms: Sequence[str], block: int, rng_of: Callable[[int], np.random.Generator]) -> list[str]:
    """Returns the names of the arms in the order in which they run in block number `block`, counted from 0.

    No arm is always early or always after the same other. Blocks take the rows of one Williams square after another. For each
    square, `rng_of(square)` draws which arm a number stands for and in which order the rows come, so that the order of a block
    does not depend on how many blocks there are. Over as many blocks as arms, every arm stands in every place once. For an odd
    number of arms these are half of a square, so that only twice as many blocks also balance which arm follows which.
    """
    rows, size = williams_square(len(arms)), len(arms)
    square, row = divmod(block, len(rows))
    half, place = divmod(row, size)
    rng = rng_of(square)
    labels = rng.permutation(size)
    orders = [rng.permutation(size) for _ in range(half + 1)]
    return [arms[int(labels[number])] for number in rows[half * size + int(orders[half][place])]]
