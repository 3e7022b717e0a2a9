"""Studies that notebooks call, and what is made of what they state: facts, claims, the paper, the page."""

from tickdisk.report.accesses import study as accesses
from tickdisk.report.calibration import study as calibration
from tickdisk.report.capture_cost import study as capture_cost
from tickdisk.report.checkpoint import study as checkpoint
from tickdisk.report.inside_tick import around_tick
from tickdisk.report.inside_tick import study as inside_tick
from tickdisk.report.join_burst import study as join_burst
from tickdisk.report.page import write_page
from tickdisk.report.publish import check_results, collect, set_paper
from tickdisk.report.replay import study as replay
from tickdisk.report.statement import VERDICTS, Claim, Fact, Statement
from tickdisk.report.store import study as store
from tickdisk.report.study import Study
from tickdisk.report.switchback import study as switchback

__all__ = [
    "VERDICTS",
    "Claim",
    "Fact",
    "Statement",
    "Study",
    "accesses",
    "around_tick",
    "calibration",
    "capture_cost",
    "check_results",
    "checkpoint",
    "collect",
    "inside_tick",
    "join_burst",
    "replay",
    "set_paper",
    "store",
    "switchback",
    "write_page",
]
