"""Makes the page docs/columns.md, which describes every table and every JSON file that Tickdisk writes.

The types come from the schemas and classes in the code. The sentences come from the docstrings of fields, or are written in this
room. TickdiskError is raised for a column or key without a sentence, and for a sentence without a column or key.
"""

from tickdisk.describe.entry import DescribedTable
from tickdisk.describe.markdown import SECTIONS, document

__all__ = ["SECTIONS", "DescribedTable", "document"]
