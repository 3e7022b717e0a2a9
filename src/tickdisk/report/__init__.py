"""Makes the paper and the page from the facts and claims of all studies.

`collect` merges the files of the studies and writes answers to the questions of the paper. `set_paper` then makes the PDF,
`write_page` the page, and `check_results` checks that nothing is missing. `price_list` makes a table for operators of our kept
run of the study of changes.
"""

from tickdisk.report.page import write_page
from tickdisk.report.prices import price_list, replace_price_list
from tickdisk.report.publish import Checked, check_results, collect, set_paper

__all__ = [
    "Checked",
    "check_results",
    "collect",
    "price_list",
    "replace_price_list",
    "set_paper",
    "write_page",
]
