"""The rules by which a study decides, from the configuration."""

from tickdisk.config import Decision
from tickdisk.stats import DecisionPlan


def decide_by(decision: Decision, lives: int, margin: float | None) -> DecisionPlan:
    """Returns the rules for a number of planned lives. If `margin` is None, it is that of the configuration."""
    margin = decision.margin if margin is None else margin
    return DecisionPlan(lives, decision.minimum_lives, decision.control_minimum_lives, margin, decision.alpha)
