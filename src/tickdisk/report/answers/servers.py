"""Names the servers that were compared with the server of the studies."""

import re

from tickdisk.report.evidence import Evidence

_TITLE = re.compile(r"(other_servers\.[a-z0-9_]+\.)[a-z0-9_]+\.title$")


def other_servers(evidence: Evidence) -> dict[str, str]:
    """Returns the names in prose of the servers of the study `other_servers`, by the beginning of the names of their facts.

    Such a beginning is `other_servers.NAME.`. The result is empty if this study did not run.
    """
    titles = ((match[1], str(fact.word)) for name, fact in evidence.facts.items() if (match := _TITLE.match(name)))
    return dict(titles)
