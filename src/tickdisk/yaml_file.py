"""YAML files, read as YAML 1.2 says: `0100000` is a hundred thousand, `1:30` and `no` are words, and no key stands twice."""

from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from tickdisk.errors import TickdiskError

_WIDTH = 130


def read_yaml(path: Path, missing: str) -> Any:
    """Returns the value in a YAML file.

    Parameters
    ----------
    path
        The file, in UTF-8.
    missing
        What to do where there is no such file; the message of the error ends with it.

    Raises
    ------
    TickdiskError
        When the file cannot be read, or is not YAML; the message names the line.

    """
    try:
        return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; {missing}") from error
    except OSError as error:
        raise TickdiskError(f"{path} cannot be read: {error.strerror}; {missing}") from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = str(error.problem).split(" with value")[0]  # of a key that stands twice it prints both values
        raise TickdiskError(f"{path}, line {line}: not YAML ({problem}); correct it") from error
    except (UnicodeDecodeError, YAMLError, ValueError) as error:
        raise TickdiskError(f"{path}: not YAML in UTF-8 ({str(error).splitlines()[0]}); correct it") from error


def yaml_text(value: Any) -> str:
    """Returns `value` as YAML that `read_yaml` reads: keys in their order, the innermost lists and mappings on one line each."""
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style, writer.width = None, _WIDTH
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    text = StringIO()
    writer.dump(value, text)
    return text.getvalue()
