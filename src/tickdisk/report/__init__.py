"""Makes the paper and the page from the facts and claims of all studies.

`collect` merges the files of the studies and writes answers to the questions of the paper. `set_paper` then makes the PDF,
`write_page` the page, and `check_results` checks that nothing is missing.
"""

from tickdisk.report.page import write_page
from tickdisk.report.publish import Checked, check_results, collect, set_paper

__all__ = [
    "Checked",
    "check_results",
    "collect",
    "set_paper",
    "write_page",
]
