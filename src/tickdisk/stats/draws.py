"""Random generators that are named by a seed and a purpose, so that no draw depends on draws that were made before it."""

from hashlib import sha256

import numpy as np


def named_generator(seed: int, *purpose: str) -> np.random.Generator:
    """Makes the random generator of one purpose, so that an analysis always draws the same numbers for it.

    The same seed and the same words, such as "switchback" and "power difference", give the same draws. Any other word gives draws
    that are independent of them.
    """
    words = np.frombuffer(sha256("\0".join(purpose).encode()).digest(), dtype=np.uint32)
    return np.random.default_rng(np.random.SeedSequence([seed, *words.tolist()]))
