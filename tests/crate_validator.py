"""Started as a program with the folder of a crate, it prints what the validator finds, as JSON.

The validator is `build/validator`, which has to be on the path. No network is used: it gets the one context that a crate names
from `tests/kept`, where it lies as https://w3id.org/ro/crate/1.1/context has it (version 1.1.3, CC0).
"""

import json
import sys
from pathlib import Path
from typing import Any

import requests
import zstandard
from rocrate_validator import services
from rocrate_validator.models import Severity, ValidationSettings
from rocrate_validator.utils.http import HttpRequester

_CONTEXT = "https://w3id.org/ro/crate/1.1/context"
_KEPT = Path(__file__).parent / "kept/ro-crate-1.1-context.json.zst"


def _get(_: HttpRequester, address: str, **__: Any) -> requests.Response:
    assert address == _CONTEXT, address
    answer = requests.Response()
    answer.status_code, answer.raw = 200, zstandard.ZstdDecompressor().stream_reader(_KEPT.open("rb"))
    answer.headers["Content-Type"] = "application/ld+json"
    return answer


HttpRequester.get = _get
settings = ValidationSettings(
    rocrate_uri=sys.argv[1],
    profile_identifier="workflow-run-crate",
    requirement_severity=Severity.RECOMMENDED,
    offline=True,
    skip_availability_check=True,
)
issues = services.validate(settings).get_issues()
print(json.dumps([(issue.severity.name, issue.check.identifier, issue.message) for issue in issues]))
