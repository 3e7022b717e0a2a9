"""The studies that the notebooks call, and the paper and the page that are made from their results.

A study is the analysis of one experiment. Its function (`switchback`, `join_burst`, `inside_tick`, `accesses`, `replay`,
`calibration`, `checkpoint`, `store`, `capture_cost`) reads the results of a run and returns a `Study`, which holds the results,
a `Statement` of facts and claims, and the figures and tables by name. A `Fact` is a number with its unit, interval, n and
source. A `Claim` is a question with a verdict, and with the facts that the verdict rests on.

`Study.save` writes facts.json and claims.json into the folder of the notebook. `collect` merges these files and answers the
questions of the paper, `set_paper` and `write_page` make the paper and the page from the merged files, and `check_results`
checks that a run is complete.
"""

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
