"""Takes the names of files out of what a check has seen, so that its result can be shown to others."""

from dataclasses import replace
from pathlib import Path

from tickdisk.check.look import Look


def anonymised(seen: Look) -> Look:
    """Returns what a check has seen with other names of folders and files. The end of a name, such as .sqlite, stays."""
    folders: dict[Path, str] = {}
    files: dict[str, str] = {}

    def name(file: str) -> str:
        path = Path(file)
        folder = folders.setdefault(path.parent, f"/folder{len(folders) + 1}")
        return files.setdefault(file, f"{folder}/file{len(files) + 1}{path.suffix}") if file else ""

    captures = []
    for capture in seen.captures:
        named = capture.requests["file"]
        known = named.where(named.isna(), named.dropna().map(name).reindex(named.index))
        captures.append(replace(capture, requests=capture.requests.assign(file=known)))
    held = [replace(each, file=name(each.file)) for each in seen.held]
    return replace(seen, captures=captures, held=held)
