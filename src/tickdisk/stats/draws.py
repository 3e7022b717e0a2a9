"""Random draws that depend on a seed and on what they are for, so that none depends on which others were made before."""

from hashlib import sha256

import numpy as np


def named_generator(seed: int, *purpose: str) -> np.random.Generator:
    """Returns the generator of one purpose, such as ("switchback", "power difference").

    The same seed and the same words give the same draws; any other word gives draws that are independent of them.

    Examples
    --------
    >>> named_generator(1, "a", "b").random() == named_generator(1, "a", "b").random()
    True
    >>> named_generator(1, "a", "b").random() == named_generator(1, "a", "c").random()
    False

    """
    words = np.frombuffer(sha256("\0".join(purpose).encode()).digest(), dtype=np.uint32)
    return np.random.default_rng(np.random.SeedSequence([seed, *words.tolist()]))
