"""Reads from the plan which claims and arms the questions are about."""

from dataclasses import dataclass

from tickdisk.experiment import JOIN_BURST, Arm
from tickdisk.project import KeptPlan
from tickdisk.studies.statement import fact_name


@dataclass(frozen=True)
class Asked:
    """The claims and arms of a plan that the questions are about. An arm is None if its experiment has no arms."""

    ticks: str
    """Metric of ticks of the confirmatory claims, as the names of facts have it, such as "gap_max"."""
    action: str
    """Kind of action of the confirmatory claims, such as "teleport"."""
    claims: tuple[str, str]
    """Ids of the confirmatory claims on the server of the studies: the one about ticks, and the one about actions."""
    slow: Arm | None
    """Arm of the confirmatory claims."""
    baseline: Arm | None
    """Baseline of their experiment."""
    burst: Arm | None
    """Arm of the join burst with the highest latency of its own."""
    server: str
    """Name of the server of the studies."""

    @classmethod
    def of(cls, plan: KeptPlan) -> "Asked":
        """Returns what is asked by a plan."""
        fixed = plan.config.decision.confirmatory
        ticks, action, start = fact_name(fixed.tick_metric), fixed.action, f"{fixed.experiment}.{fixed.arm}"
        every = [arm for arm in plan.arms if plan.config.server in arm.servers]
        own, burst = ([arm for arm in every if arm.experiment == name] for name in (fixed.experiment, JOIN_BURST.name))
        return cls(
            ticks,
            action,
            (f"{start}.{ticks}", f"{start}.{action}_mean"),
            slow=next((arm for arm in own if arm.arm == fixed.arm), None),
            baseline=next((arm for arm in own if arm.role == "baseline"), None),
            burst=max((arm for arm in burst if arm.latency_us is not None), key=lambda arm: arm.latency_us or 0, default=None),
            server=plan.config.server,
        )
