"""Writes the metadata of a crate, whose folder is that of the results."""

import shutil
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rocrate.model import ContextEntity, Entity
from rocrate.rocrate import ROCrate

from tickdisk.citation import Author, Citation, read_citation
from tickdisk.crate.ran import Machine, Program, Ran, iso, read_run
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import whole, write_json
from tickdisk.foundation.record import plain

_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_VERSION = "1.1"
"""The version of RO-Crate that these profiles extend."""
_WORKFLOW = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
_COPIES = "source"
_PARAMETERS = {"scale": "Text", "study": "Text", "blocks": "Integer", "seed": "Integer", "server": "Text"}
"""The keys of the configuration that a crate states as parameters, with their types."""
_FORMATS = {
    ".html": "text/html",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".tsv": "text/tab-separated-values",
    ".yaml": "application/yaml",
}


def write_crate(files: Sequence[Path], sources: Sequence[Path], data: Sequence[Path], output: Path) -> None:
    """Writes the metadata of a run to `output`, and copies of what the run was made from into the folder `source` beside it.

    `files` are the results of the run, which are files and folders beside `output`; the cells of the plan are added to them.
    `sources` are the files of the workflow, of which the first is the Snakefile, and `data` the files that it reads. Both are
    paths in the project's folder. The metadata are the same whenever they are written, because all times are from records.
    """
    results, citation = output.parent, read_citation()
    ran = read_run(results, [path for path in files if path.suffix == ".ipynb"])
    crate = ROCrate(version=_VERSION)
    _about_the_whole(crate, citation, ran)
    shutil.rmtree(results / _COPIES, ignore_errors=True)
    workflow = _workflow(crate, results, citation, ran, sources)
    given = _given(crate, results, ran, data)
    for name, (kind, value) in given.items():
        value["exampleOfWork"] = crate.add_formal_parameter(name, kind, f"#parameter-{name}", properties={"workExample": value})
        workflow.append_to("input", value["exampleOfWork"])
    machines = {machine: _machine(crate, number, machine) for number, machine in enumerate(ran.machines, 1)}
    made = [_result(crate, results, path) for path in sorted({*files})]
    for cell in ran.cells:
        about = {"name": cell.title, "dateCreated": iso(cell.ended_unix_s), "locationCreated": machines[cell.machine]}
        made.append(_result(crate, results, results / "runs" / cell.hash, **about))
    run = crate.add_action(workflow, "#run", [value for _, value in given.values()], made)
    _set(run, name=crate.name, startTime=iso(ran.started_unix_s), endTime=iso(ran.ended_unix_s))
    _set(run, description="`make paper` computed the results. The times are those of the first and the last recorded step.")
    _set(run, location=_one([*machines.values()]), actionStatus="http://schema.org/CompletedActionStatus")
    _set(run, agent=_about(crate, "#operator", "Person", name="the person who ran it, whose name the run does not record"))
    crate.root_dataset["mentions"] = run
    if (readme := results / "README.md").exists():
        _result(crate, results, readme, about=crate.root_dataset)
    write_json(output, crate.metadata.generate())


def _about_the_whole(crate: ROCrate, citation: Citation, ran: Ran) -> None:
    """Says what the crate is, who the authors are, and which profiles it follows."""
    licence = _about(crate, f"https://spdx.org/licenses/{citation.license}", "CreativeWork", name=citation.license)
    profiles = [_about(crate, place, "CreativeWork", name=title) for place, title in _PROFILES.items()]
    authors = _one([_author(crate, author) for author in citation.authors])
    _set(crate.root_dataset, name=f"A run of Tickdisk at scale {ran.plan.config.scale}", description=citation.abstract)
    _set(crate.root_dataset, keywords=", ".join(citation.keywords), author=authors, license=licence, conformsTo=profiles)
    _set(crate.root_dataset, datePublished=iso(ran.ended_unix_s))


def _workflow(crate: ROCrate, results: Path, citation: Citation, ran: Ran, sources: Sequence[Path]) -> Entity:
    """Copies the files of the workflow, and adds them and the programs that the workflow needs."""
    first, *others = ((f"{_COPIES}/{path}", _copy(results, path)) for path in sources)
    workflow = crate.add_workflow(
        dest_path=first[0], main=True, lang="snakemake", lang_version=version("snakemake"), properties=first[1]
    )
    for place, properties in others:
        crate.add_file(dest_path=place, properties=properties)
    root, programs = crate.root_dataset, [_program(crate, program) for program in ran.programs]
    _set(workflow, name=citation.title, version=citation.version, url=citation.repository_code, conformsTo={"@id": _WORKFLOW})
    return _set(workflow, author=root["author"], license=root["license"], softwareRequirements=programs)


def _given(crate: ROCrate, results: Path, ran: Ran, data: Sequence[Path]) -> dict[str, tuple[str, Entity]]:
    """Copies the data that the workflow reads, and adds them and the parameters of the run: the type and the value by name."""
    files = ((path, _copy(results, path)) for path in data)
    given = {
        str(path): ("File", crate.add_file(dest_path=f"{_COPIES}/{path}", properties=properties)) for path, properties in files
    }
    for name, kind in _PARAMETERS.items():
        if (value := getattr(ran.plan.config, name)) is not None:
            given[name] = kind, _about(crate, f"#value-{name}", "PropertyValue", name=name, value=value)
    return given


def _one(values: list[Entity]) -> Entity | list[Entity]:
    """Returns a list, or its only element, because a crate has no lists of one element."""
    return values[0] if len(values) == 1 else values


def _set(entity: Entity, **properties: Any) -> Entity:
    """Gives an entity those of the properties that are not empty."""
    for key, value in properties.items():
        if value or value == 0:
            entity[key] = value
    return entity


def _about(crate: ROCrate, identifier: str, kind: str, **properties: Any) -> Entity:
    """Adds an entity that is no file."""
    return _set(crate.add(ContextEntity(crate, identifier.replace(" ", "-"), {"@type": kind})), **properties)


def _author(crate: ROCrate, author: Author) -> Entity:
    identifier = author.orcid or author.website or f"#{author.full_name}"
    if not author.is_person:
        return _about(crate, identifier, "Organization", name=author.name, url=author.website)
    person = _about(crate, identifier, "Person", name=author.full_name, url=author.website)
    if author.affiliation:
        person["affiliation"] = _about(crate, f"#{author.affiliation}", "Organization", name=author.affiliation)
    return person


def _program(crate: ROCrate, program: Program) -> Entity:
    identifier = program.site or f"#{program.name}"
    return _about(crate, identifier, "SoftwareApplication", name=program.name, url=program.site, softwareVersion=program.version)


def _machine(crate: ROCrate, number: int, machine: Machine) -> Entity:
    identifier, kind = f"#machine-{number}", plain(machine.kind).items()
    facts = [_about(crate, f"{identifier}-{name}", "PropertyValue", name=name, value=value) for name, value in kind]
    return _about(crate, identifier, "Place", name=machine.node or f"machine {number}", additionalProperty=facts)


def _copy(results: Path, source: Path) -> dict[str, str]:
    """Copies a file of the project into the crate, and returns its properties."""
    with whole(results / _COPIES / source) as partial:
        shutil.copyfile(source, partial)
    return _properties(source)


def _properties(path: Path) -> dict[str, str]:
    return {"encodingFormat": _FORMATS.get(path.suffix, "text/plain"), "contentSize": str(path.stat().st_size)}


def _result(crate: ROCrate, results: Path, path: Path, **properties: Any) -> Entity:
    """Adds a file or a folder of the results."""
    if not path.is_relative_to(results):
        raise TickdiskError(f"{path} is not in the crate, which is the folder {results}; name results that are in it")
    place = str(path.relative_to(results))
    if path.is_dir():
        return _set(crate.add_dataset(dest_path=place), **{"name": place, **properties})
    return _set(crate.add_file(dest_path=place, properties=_properties(path)), **{"name": place, **properties})
