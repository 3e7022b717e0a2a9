"""Places in documents for lists that are printed from kept runs."""

from dataclasses import dataclass
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import write_text


@dataclass(frozen=True)
class Place:
    """The lines of a document between which a list stands."""

    begin: str
    end: str

    def replace(self, document: Path, listed: str) -> None:
        """Writes a list between both lines of a document. Raises TickdiskError if the document lacks them."""
        try:
            text = document.read_text(encoding="utf-8") if document.is_file() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise TickdiskError(f"{document} cannot be read as text: {error}; name a document in Markdown") from error
        before, begins, rest = text.partition(self.begin)
        _, ends, after = rest.partition(self.end)
        if not (begins and ends):
            raise TickdiskError(f"{document} has no place for this list; add the lines {self.begin!r} and {self.end!r} to it")
        write_text(document, f"{before}{self.begin}\n{listed}{self.end}{after}")
