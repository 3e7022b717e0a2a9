"""Notebooks are thin, stripped, and refuse parameters that they do not have."""

import re
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import nbformat
import papermill
import pytest
from papermill.exceptions import PapermillExecutionError

from tickdisk import studies
from tickdisk.foundation.errors import TickdiskError
from tickdisk.studies import parameters
from tickdisk.studies.parameters import unknown_parameters

NOTEBOOKS = sorted(Path("notebooks").rglob("*.ipynb"))
LONGEST_CELL = 6


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"calibration", "switchback", "join_burst"}


def test_notebooks_are_stripped_and_thin() -> None:
    for path in NOTEBOOKS:
        code = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        assert all(not cell.outputs and cell.execution_count is None for cell in code), path
        declared = [cell for cell in code if "parameters" in cell.metadata.get("tags", [])]
        assert len(declared) == 1, path
        assert declared[0].source.startswith("# parameters"), path
        assert all(len(cell.source.splitlines()) <= LONGEST_CELL for cell in code if cell is not declared[0]), path


def test_facts_are_saved_before_anything_is_shown_and_never_again() -> None:
    for path in NOTEBOOKS:
        code = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        made = next(index for index, source in enumerate(code) if f"study = studies.{path.stem}(" in source)
        assert code[made + 1] == "study.save(output)", path
        shown = code[made + 2 :]
        assert shown, path
        assert all(re.fullmatch(r"study\.(figure|table|verdicts|outcome)\([^=]*\)", source) for source in shown), (path, shown)


def test_injected_names_are_held_against_declared_ones() -> None:
    cells = ["# parameters\nplan = 1\nmargin: float = 0.2", '# Parameters\nplan = 2\nmargn = 3\nPAPERMILL_INPUT_PATH = "x"']
    assert unknown_parameters(cells) == ({"margn"}, {"plan", "margin"})


def test_a_notebook_that_began_in_its_own_folder_goes_on_in_the_project_s(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project = Path.cwd()
    monkeypatch.setattr(parameters, "get_ipython", lambda: SimpleNamespace(user_ns={}))
    for began, goes_on in ((project / "notebooks", project), (project, project), (tmp_path, project)):
        monkeypatch.chdir(began)
        parameters.check_parameters()
        assert Path.cwd() == goes_on


@pytest.mark.filterwarnings("default")
def test_an_unknown_papermill_parameter_is_an_error(tmp_path: Path) -> None:
    """Every study checks its parameters by the same function, so one notebook shows it."""
    path = Path("notebooks/switchback.ipynb")
    with pytest.raises(PapermillExecutionError, match="unknown parameter no_such_name"):
        papermill.execute_notebook(
            path, tmp_path / "out.ipynb", parameters={"no_such_name": 1}, progress_bar=False, log_output=False
        )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("margin", "0.1"),
        ("margin", True),
        ("margin", float("nan")),
        ("margin", -0.5),
        ("margin", 0),
        ("margin", 1.5),
        ("margin", "null"),
        ("margin", "[0.1]"),
        ("margin", [0.1, 0.2]),
        ("bootstrap_samples", 0),
        ("bootstrap_samples", 1e3),
        ("bootstrap_samples", "1e3"),
        ("seed", -1),
        ("seed", 2**70),
        ("seed", True),
        ("tick_metric", "gap_p99_ms"),
        ("tick_metric", "life"),
        ("tick_metric", None),
        ("action", "join"),
        ("plan", None),
        ("runs", 3),
    ],
)
def test_a_parameter_of_another_type_or_range_is_one_sentence_that_names_it(name: str, value: object) -> None:
    with pytest.raises(TickdiskError) as raised:
        parameters.check_values(**{name: value})
    said = str(raised.value)
    assert said.startswith(f"parameter {name} is {value!r}, and must be ")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("name", "value", "hinted"),
    [("margin", "0.1", True), ("seed", "None", True), ("margin", "null", False), ("margin", -0.5, False), ("seed", "-1", False)],
)
def test_papermill_s_p_is_advised_only_where_it_helps(name: str, value: object, hinted: bool) -> None:
    with pytest.raises(TickdiskError) as raised:
        parameters.check_values(**{name: value})
    assert ("use -p" in str(raised.value)) == hinted


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_papermill_s_help_describes_every_parameter(path: Path) -> None:
    described = papermill.inspect_notebook(path)
    assert set(described) == unknown_parameters([cell.source for cell in nbformat.read(path, as_version=4).cells])[1]
    assert all(each["help"] for each in described.values()), described


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_study_takes_what_its_notebook_declares_and_checks_it_first(path: Path) -> None:
    analysis = getattr(studies, path.stem)
    _, declared = unknown_parameters([cell.source for cell in nbformat.read(path, as_version=4).cells])
    taken = list(signature(analysis.compute).parameters)
    assert declared - {"output"} == {*taken} - {"server"}
    with pytest.raises(TickdiskError, match=f"parameter {taken[0]} is 3, and must be the path"):
        analysis(3, **dict.fromkeys(declared - {"output", taken[0]}))


def test_planned_and_common_values_are_fine() -> None:
    parameters.check_values(
        margin=None, seed=None, bootstrap_samples=None, tick_metric="gap_max_ms", action="teleport", plan="p.json"
    )
    parameters.check_values(margin=0.1, seed=0, bootstrap_samples=500, tick_metric="gap_p95_ms", action="dig")
