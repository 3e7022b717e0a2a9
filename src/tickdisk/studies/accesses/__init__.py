"""The study of the storage accesses of a server: what causes them, what they look like, and when they happen.

Some server lives are captured while players act. The study estimates the accesses that each interaction of a player causes. It
fits a generative model, which is the cost of each event of a routine of the server, to some lives, and predicts the others.
Published findings become claims.
"""

from tickdisk.studies.accesses.compute import compute
from tickdisk.studies.accesses.show import FIGURES, TABLES
from tickdisk.studies.accesses.state import state
from tickdisk.studies.study import Analysis

__all__ = ["study"]

study = Analysis(compute, state, FIGURES, TABLES)
