"""The study that describes loads on storage: reads and writes, sizes, bursts, places and latencies, beside published loads.

`study` describes the captured lives of every server of a run, or traces of other programs. The command `tickdisk inspect` uses
`describe_traces` and writes one HTML page. The first load is shown in detail, and all stand side by side in a table.
"""

from tickdisk.studies.inspect.compute import Given, Replayed, compute, describe_traces
from tickdisk.studies.inspect.show import FIGURES, TABLES
from tickdisk.studies.inspect.state import state
from tickdisk.studies.inspect.write import inspected_as_json, write_inspected
from tickdisk.studies.study import Analysis

__all__ = ["Given", "Replayed", "describe_traces", "inspected_as_json", "study", "write_inspected"]

study = Analysis(compute, state, FIGURES, TABLES)
