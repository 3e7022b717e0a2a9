"""Reads YAML files and makes YAML text, as YAML 1.2 defines it.

A number that YAML 1.1 reads differently, as Snakemake and many editors do, is an error: `010` is 8 there, and `1:30` is 90. Words
such as `no` are words. A key that occurs twice in a mapping is an error, too.
"""

import re
from contextlib import suppress
from copy import deepcopy
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import SafeRepresenter

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import check

Value = TypeVar("Value")
_WIDTH = 130
_DECIMAL = re.compile(r"-?(0|[1-9][0-9_]*)(\.[0-9]+)?")
"""A number that all versions of YAML read alike."""
_NUMBERS = (int, float)


_YAML_1_1 = yaml.SafeLoader("")


def _in_yaml_1_1(word: str) -> int | float | str:
    """Returns the number that YAML 1.1 reads in a word without quotes, or the word itself if it is no number there."""
    tag: str = _YAML_1_1.resolve(yaml.ScalarNode, word, (True, False))  # type: ignore[no-untyped-call]
    node = yaml.ScalarNode(tag, word)
    with suppress(ValueError):  # from digits that are underscores only
        match tag.rpartition(":")[2]:
            case "int":
                return int(_YAML_1_1.construct_yaml_int(node))
            case "float":
                return float(_YAML_1_1.construct_yaml_float(node))
    return word


class _TwoReadingsError(MarkedYAMLError):
    """A number that two versions of YAML read differently."""


class _Constructor(SafeConstructor):
    """Makes values as YAML 1.2 defines them, and refuses numbers that YAML 1.1 reads differently."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        value = super().construct_object(node, deep)
        if not isinstance(node, ScalarNode) or _DECIMAL.fullmatch(node.value) or (node.style and isinstance(value, str)):
            return value
        word: str = node.value
        other = _in_yaml_1_1(word)
        if {type(value), type(other)} & {*_NUMBERS} and (type(value), repr(value)) != (type(other), repr(other)):
            problem = f"{word} is {other!r} in YAML 1.1 and {value!r} in YAML 1.2"
            raise _TwoReadingsError(problem=problem, problem_mark=node.start_mark)
        return value


class _Representer(SafeRepresenter):
    """Quotes words that begin with a colon, which the library could not read again, and words that are numbers in YAML 1.1."""

    def represent_str(self, data: str) -> Any:
        is_quoted = data.startswith(":") or isinstance(_in_yaml_1_1(data), _NUMBERS)
        return self.represent_scalar("tag:yaml.org,2002:str", data, style="'" if is_quoted else None)

    def represent_float(self, data: float) -> Any:
        """Writes 1e-05 as 1.0e-05, because the first is a word in YAML 1.1."""
        node = super().represent_float(data)
        if "." not in node.value:
            node.value = node.value.replace("e", ".0e")
        return node


_Representer.add_representer(str, _Representer.represent_str)
_Representer.add_representer(float, _Representer.represent_float)


def read_yaml(path: Path, missing: str) -> Any:
    """Returns the value in a YAML 1.2 file in UTF-8.

    Raises TickdiskError if the file cannot be read, is not YAML, or has a number that YAML 1.1 reads differently. If there is no
    such file, the message ends with the advice `missing`.
    """
    try:
        return deepcopy(_value(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; {missing}") from error
    except OSError as error:
        raise TickdiskError(f"{path} cannot be read: {error.strerror}; {missing}") from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        if isinstance(error, _TwoReadingsError):
            advice = "write the number without zeros before it and without an exponent, or put a word in quotes"
            raise TickdiskError(f"{path}, line {line}: {error.problem}; {advice}") from error
        problem = str(error.problem).split(" with value")[0]  # ruamel would also print both values of a key that stands twice
        raise TickdiskError(f"{path}, line {line}: not YAML ({problem}); correct it") from error
    except RecursionError as error:
        raise TickdiskError(f"{path}: not YAML (it is nested too deeply); correct it") from error
    except (UnicodeDecodeError, YAMLError, ValueError) as error:
        raise TickdiskError(f"{path}: not YAML in UTF-8 ({str(error).splitlines()[0]}); correct it") from error


@lru_cache(maxsize=8)
def _value(text: str) -> Any:
    """Returns the value of a text. A process often reads the same few files again, and a long one takes half a second."""
    reader = YAML(typ="safe", pure=True)
    reader.Constructor = _Constructor
    return reader.load(text)


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
