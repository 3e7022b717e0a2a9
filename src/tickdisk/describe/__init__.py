"""The description of every table and JSON file that Tickdisk writes.

`document` returns the page docs/data.md. It lists every column of a table and every key of a JSON file with its type, its unit
and a sentence. Types come from the schemas and classes of the code. Sentences come from the docstrings of their fields, or from
this room. A column without a sentence is an error, and so is a sentence without a column.
"""

from tickdisk.describe.entry import Block, Entry, Row, Section
from tickdisk.describe.keys import Key
from tickdisk.describe.markdown import EXAMPLE, SECTIONS, document

__all__ = ["EXAMPLE", "SECTIONS", "Block", "Entry", "Key", "Row", "Section", "document"]
