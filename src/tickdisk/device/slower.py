"""A device that is slower than a profiled one, as a control that a comparison with the profiled disk must find."""

from tickdisk.device.model import DeviceModel
from tickdisk.device.parts import LONGEST_NS, OpLatency, Quantiles, QuantilesByInflight
from tickdisk.foundation.errors import TickdiskError


def slower(model: DeviceModel, factor: float, flush_ns: int) -> DeviceModel:
    """Returns a profiled device whose reads and writes take `factor` times as long, and whose flushes take `flush_ns` longer.

    A latency of a kind that no profile has raises TickdiskError.
    """
    return model.model_copy(
        update={
            "name": f"{model.name}_wrong",
            "read_latency_ns": _changed(model.read_latency_ns, factor, 0),
            "write_latency_ns": _changed(model.write_latency_ns, factor, 0),
            "flush_latency_ns": _changed(model.flush_latency_ns, 1, flush_ns),
        }
    )


def _changed(latency: OpLatency, factor: float, longer_ns: int) -> OpLatency:
    def changed(latency_ns: float) -> float:
        return min(float(round(latency_ns * factor + longer_ns)), LONGEST_NS)

    match latency:
        case int():
            return int(changed(latency))
        case Quantiles():
            return Quantiles(quantiles=tuple((share, changed(latency_ns)) for share, latency_ns in latency.quantiles))
        case QuantilesByInflight():
            rows = tuple((row[0], *map(changed, row[1:])) for row in latency.quantiles)
            return QuantilesByInflight(inflight=latency.inflight, quantiles=rows)
        case _:
            raise TickdiskError(f"no latency of a profile is of the kind {type(latency).__name__}; give a profiled device")
