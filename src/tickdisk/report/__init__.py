"""Analyses the results of a run, and makes the paper and the page from them.

Each study is the analysis of one part of the results, and a notebook shows it. Its function, such as `switchback`, takes the
paths of the results and returns a `Study` with figures, tables and a `Statement` of facts and claims. `collect` merges all
studies, `set_paper` makes the PDF, `write_page` makes the page, and `check_results` checks that nothing is missing.
"""

from tickdisk.report.accesses import study as accesses
from tickdisk.report.calibration import study as calibration
from tickdisk.report.capture_cost import study as capture_cost
from tickdisk.report.checkpoint import study as checkpoint
from tickdisk.report.inside_tick import around_tick
from tickdisk.report.inside_tick import study as inside_tick
from tickdisk.report.inspect import Given, Replayed, describe_traces, inspected_as_json, write_inspected
from tickdisk.report.inspect import study as inspect
from tickdisk.report.join_burst import study as join_burst
from tickdisk.report.netcode import study as netcode
from tickdisk.report.other_servers import study as other_servers
from tickdisk.report.page import write_page
from tickdisk.report.pools import study as pools
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
    "Given",
    "Replayed",
    "Statement",
    "Study",
    "accesses",
    "around_tick",
    "calibration",
    "capture_cost",
    "check_results",
    "checkpoint",
    "collect",
    "describe_traces",
    "inside_tick",
    "inspect",
    "inspected_as_json",
    "join_burst",
    "netcode",
    "other_servers",
    "pools",
    "replay",
    "set_paper",
    "store",
    "switchback",
    "write_inspected",
    "write_page",
]
