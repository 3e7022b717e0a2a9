"""The study that describes loads on storage: reads and writes, sizes, bursts, places and latencies, beside published loads.

`study` describes the captured lives of every server of a run, or traces of other programs. The command `tickdisk inspect` uses
`describe_traces` and writes one HTML page. The first load is shown in detail, and all stand side by side in a table.
"""

from pathlib import Path

from tickdisk.studies.inspect.compute import Given, Replayed, Results, compute, describe_traces
from tickdisk.studies.inspect.show import FIGURES, TABLES
from tickdisk.studies.inspect.state import state
from tickdisk.studies.inspect.write import inspected_as_json, write_inspected
from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.study import Study

__all__ = ["Given", "Replayed", "describe_traces", "inspected_as_json", "study", "write_inspected"]


def study(plan: str, *, runs: str, published: str, traces: str | None, margin: float | None) -> Study[Results]:
    """Describes the loads of all servers of a run, or those of traces.

    `traces` has paths with a colon between two, and each is a run of one load. If it is None, the servers of the run are
    described. `margin` is a ratio less 1, and None stands for that of the plan. Raises TickdiskError if a parameter has a wrong
    type or range, no captured life has run, or a trace cannot be read.
    """
    check_parameters(plan=plan, runs=runs, published=published, traces=traces, margin=margin)
    if traces is None:
        results = compute(plan, runs=runs, published=published, margin=margin)
    else:
        results, _ = describe_traces([Given([Path(path) for path in traces.split(":")])], published=Path(published))
    return Study(results, state(results), FIGURES, TABLES)
