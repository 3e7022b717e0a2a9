"""Makes the paper and the page from the facts and claims of all studies.

`collect` merges the files of the studies and writes answers to the questions of the paper. `set_paper` then makes the PDFs of
`LIMITS`, `write_page` the page, and `check_results` checks that nothing is missing. `price_list` and `sizing_list` make tables
for operators of our kept runs.
"""

from tickdisk.report.page import write_page
from tickdisk.report.prices import PRICES, price_list
from tickdisk.report.publish import LIMITS, Checked, check_results, collect, set_paper
from tickdisk.report.sizing import SIZING, sizing_list

__all__ = [
    "LIMITS",
    "PRICES",
    "SIZING",
    "Checked",
    "check_results",
    "collect",
    "price_list",
    "set_paper",
    "sizing_list",
    "write_page",
]
