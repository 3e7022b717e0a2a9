"""What a notebook calls, and what is made of the notebooks: facts, claims, the paper, the page."""

from tickdisk.report.accesses import AccessStudy as accesses  # noqa: N813
from tickdisk.report.calibration import CalibrationStudy as calibration  # noqa: N813 - a notebook reads `report.calibration(...)`
from tickdisk.report.capture_cost import CaptureCost as capture_cost  # noqa: N813
from tickdisk.report.checkpoint import CheckpointStudy as checkpoint  # noqa: N813
from tickdisk.report.inside_tick import InsideTick as inside_tick  # noqa: N813
from tickdisk.report.inside_tick import around_tick
from tickdisk.report.join_burst import JoinBurst as join_burst  # noqa: N813
from tickdisk.report.publish import check_results, set_paper, write_page
from tickdisk.report.replay import ReplayStudy as replay  # noqa: N813
from tickdisk.report.store import StoreStudy as store  # noqa: N813
from tickdisk.report.study import VERDICTS, Claim, Fact, Study
from tickdisk.report.switchback import Switchback as switchback  # noqa: N813

__all__ = [
    "VERDICTS",
    "Claim",
    "Fact",
    "Study",
    "accesses",
    "around_tick",
    "calibration",
    "capture_cost",
    "check_results",
    "checkpoint",
    "inside_tick",
    "join_burst",
    "replay",
    "set_paper",
    "store",
    "switchback",
    "write_page",
]
