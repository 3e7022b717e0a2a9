"""Reads YAML files and makes YAML text, as YAML 1.2 defines it.

In YAML 1.2, unlike in YAML 1.1, `0100000` is a hundred thousand, and `1:30` and `no` are words. A key that occurs twice in a
mapping is an error.
"""

from io import StringIO
from pathlib import Path
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.representer import SafeRepresenter

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import check

Value = TypeVar("Value")
_WIDTH = 130


class _Representer(SafeRepresenter):
    """Quotes words that begin with a colon. The library writes them without quotes, and cannot read such keys again."""

    def represent_str(self, data: str) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style="'" if data.startswith(":") else None)


_Representer.add_representer(str, _Representer.represent_str)


def read_yaml(path: Path, missing: str) -> Any:
    """Returns the value in a YAML 1.2 file in UTF-8.

    Raises TickdiskError if the file cannot be read or is not YAML. If there is no such file, the message ends with the advice
    `missing`.
    """
    try:
        return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; {missing}") from error
    except OSError as error:
        raise TickdiskError(f"{path} cannot be read: {error.strerror}; {missing}") from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = str(error.problem).split(" with value")[0]  # ruamel would also print both values of a key that stands twice
        raise TickdiskError(f"{path}, line {line}: not YAML ({problem}); correct it") from error
    except RecursionError as error:
        raise TickdiskError(f"{path}: not YAML (it is nested too deeply); correct it") from error
    except (UnicodeDecodeError, YAMLError, ValueError) as error:
        raise TickdiskError(f"{path}: not YAML in UTF-8 ({str(error).splitlines()[0]}); correct it") from error


def read_section(kind: type[Value], path: Path, key: str) -> Value:
    """Returns what stands below a key of a YAML file, such as `data/published.yaml`, as a record.

    Raises TickdiskError if the file cannot be read, or if the values do not fit `kind`. The message names the file and the key.
    """
    values = read_yaml(path, "run from the project's folder")
    if not isinstance(values, dict) or key not in values:
        raise TickdiskError(f"{path}: key {key} is missing; restore the file from the repository")
    return check(kind, values[key], f"{path}, key {key}", "correct it as the entries around it are written")


def yaml_text(value: Any) -> str:
    """Returns a value as YAML text. Keys keep their order, and each of the innermost lists and mappings is on one line."""
    writer = YAML(typ="safe", pure=True)
    writer.Representer = _Representer
    writer.default_flow_style, writer.width = None, _WIDTH
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    text = StringIO()
    writer.dump(value, text)
    return text.getvalue()
