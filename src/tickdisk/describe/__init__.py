"""Descriptions of every table and every JSON file that Tickdisk writes, column by column and key by key."""

from tickdisk.describe.entry import Block, Entry, Row, Section
from tickdisk.describe.keys import Key
from tickdisk.describe.markdown import EXAMPLE, SECTIONS, document

__all__ = ["EXAMPLE", "SECTIONS", "Block", "Entry", "Key", "Row", "Section", "document"]
