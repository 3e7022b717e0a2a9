"""What a device is: latency per operation, bandwidth, parallelism, and what else it is made of."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, Strict, ValidationError, model_validator

from tickdisk.device.parts import (
    CONSTANT,
    KINDS,
    Bucket,
    Cache,
    Count,
    FitLine,
    Nanoseconds,
    OpLatency,
    Part,
    Points,
    Seek,
    Stalls,
    median_ns,
)
from tickdisk.errors import TickdiskError
from tickdisk.yaml_file import read_yaml

FILE = ".yaml"
"""How the name of a device ends that is a file with one device."""
_PARTS: Mapping[str, type[Part]] = {"credits": Bucket, "seek": Seek, "stalls": Stalls, "cache": Cache, "fit": FitLine, **KINDS}
_ABOUT = {"description", "source", "tier", "fit"}


class DeviceModel(Part):
    """A storage device as the emulator knows it; None and empty: it has no such part or limit.

    A request passes the token buckets and waits for a free channel; then its latency runs beside its transfer over the pipe that
    all channels share, and it completes when both are over. All are served in the order of their arrival.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: str
    description: str = ""
    source: str = ""
    """Where the values are from."""
    tier: bool = False
    """Whether it is one of the paper's tiers, which are calibrated on every machine."""
    read_latency_ns: OpLatency
    write_latency_ns: OpLatency
    flush_latency_ns: OpLatency
    discard_latency_ns: OpLatency = 0
    bandwidth_bytes_per_s: Count | None = None
    channels: Annotated[int, Field(gt=0, le=1 << 20)] | None = None
    load: Points = ()
    """Factor of the latency over requests in flight, from [1, 1] on; linear in between, and on with the last slope."""
    credits: Annotated[tuple[Bucket, ...], Strict(False)] = ()
    seek: Seek | None = None
    stalls: Stalls | None = None
    cache: Cache | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 64)] = 0
    """Of all that is drawn: the same arrivals have the same completions."""
    burn_ns: Nanoseconds = 0
    """CPU time that the emulator burns for each request, after its reply (the sham control)."""
    fit: Annotated[tuple[FitLine, ...], Strict(False)] = ()
    """Of a profiled device: how well all that fits what was measured."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        depths, factors = [depth for depth, _ in self.load], [factor for _, factor in self.load]
        if self.load and ([depths[0], factors[0]] != [1, 1] or depths != sorted(set(depths)) or factors != sorted(factors)):
            raise ValueError("load begins with [1, 1], its requests in flight rise, and its factors do not fall")
        if self.seek is not None and (self.channels != 1 or self.bandwidth_bytes_per_s is None):
            raise ValueError("a device with seek has channels: 1, and a bandwidth: one arm, and bytes that pass under it")
        return self

    @property
    def latency_ns(self) -> tuple[int, int, int, int]:
        """Latency of a read, a write, a flush and a discard on the idle device, the median; with a short seek, if it has to."""
        seek_ns = 0 if self.seek is None else self.seek.least_ns + self.seek.revolution_ns // 2
        write_ns = seek_ns + median_ns(self.write_latency_ns) if self.cache is None else median_ns(self.cache.latency_ns)
        read_ns = seek_ns + median_ns(self.read_latency_ns)
        return read_ns, write_ns, median_ns(self.flush_latency_ns), median_ns(self.discard_latency_ns)

    def as_dict(self) -> dict[str, Any]:
        """Returns the name and every parameter, as JSON has them; not what is said about it, which changes nothing."""
        return self.model_dump(mode="json", exclude=_ABOUT)

    def parameters(self) -> dict[str, Any]:
        """Returns what the native model takes; the names are those of its `Parameters`."""
        values = self.model_dump(mode="json", exclude=_ABOUT | {"name", "burn_ns"})
        return {"latency_ns": [values.pop(f"{op}_latency_ns") for op in ("read", "write", "flush", "discard")], **values}

    def with_latency(self, latency_ns: int) -> Self:
        """Returns this device with another, constant latency of reads, writes and flushes, named after it.

        That is all it takes to reach a place, whatever the load; limits, stalls and the size of a cache stay.
        """
        cache = None if self.cache is None else self.cache.model_copy(update={"latency_ns": latency_ns})
        return self.model_copy(
            update={
                "name": f"{self.name}_{latency_ns / 1000:g}us",
                "read_latency_ns": latency_ns,
                "write_latency_ns": latency_ns,
                "flush_latency_ns": latency_ns,
                "load": (),
                "seek": None,
                "cache": cache,
            }
        )

    def with_burn(self, burn_ns: int) -> Self:
        """Returns this device, under the same name, burning `burn_ns` of CPU time for each request."""
        return self.model_copy(update={"burn_ns": burn_ns})

    def with_seed(self, seed: int) -> Self:
        """Returns this device, under the same name, with the draws of another seed."""
        return self.model_copy(update={"seed": seed})

    def steady(self) -> Self:
        """Returns a device that always answers as this one does at the median while it is idle."""
        ops = dict(zip(("read", "write", "flush", "discard"), self.latency_ns, strict=True))
        update: dict[str, Any] = {f"{op}_latency_ns": latency_ns for op, latency_ns in ops.items()}
        return self.model_copy(update=update | {"load": (), "credits": (), "seek": None, "stalls": None, "cache": None})

    def unlimited(self) -> Self:
        """Returns this device without any delay: what set-up and tear-down use."""
        about = {"name": f"{self.name}_unlimited", "description": self.description, "source": self.source}
        return self.model_validate({**about, "read_latency_ns": 0, "write_latency_ns": 0, "flush_latency_ns": 0})

    def service_ns(self, length: int) -> int:
        """Returns the time that an idle device takes for a read of `length` bytes, the median."""
        transfer = 0 if self.bandwidth_bytes_per_s is None else round(length * 1e9 / self.bandwidth_bytes_per_s)
        return max(self.latency_ns[0], transfer)


NO_DELAY = DeviceModel(name="no_delay", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=0)


def load_devices(path: Path) -> dict[str, DeviceModel]:
    """Returns the devices in a YAML file, by name; TickdiskError names the file, the device and the key that is wrong."""
    described = read_yaml(path, "give the file that describes the devices")
    if not isinstance(described, dict) or not described:
        raise TickdiskError(f"{path}: no devices; write `name:` and its keys below")
    for name in described:
        if not isinstance(name, str):
            raise TickdiskError(f"{path}: the name of a device is a word, not {name}; write it in quotes")
    return {name: _device(path, name, values) for name, values in described.items()}


def _device(path: Path, name: str, values: object) -> DeviceModel:
    if not isinstance(values, dict):
        raise TickdiskError(f"{path}, device {name}: no keys; it needs read_latency_ns, write_latency_ns and flush_latency_ns")
    odd = [key for key in values if not isinstance(key, str) or key == "name"]
    if odd:
        raise TickdiskError(f"{path}, device {name}, key {odd[0]}: unknown key; the name stands above, the keys are words")
    try:
        return DeviceModel(name=name, **values)
    except ValidationError as error:
        raise TickdiskError(f"{path}, device {name}{_problem(error)}") from error


def _problem(error: ValidationError) -> str:
    """The first thing that is wrong: the key, what is wrong with it, and the keys that there are at its place."""
    first = error.errors()[0]
    place = first["loc"]
    key = ".".join(str(part) for part in place if part not in {CONSTANT, *KINDS})
    owner = next((_PARTS[str(part)] for part in reversed(place[:-1]) if str(part) in _PARTS), DeviceModel)
    match first["type"]:
        case "extra_forbidden":
            problem = "unknown key"
        case "missing":
            problem = "missing"
        case "value_error":
            return f"{key and f', key {key}'}: {first['msg'].removeprefix('Value error, ')}; correct it"
        case _:
            problem = f"{first['msg']}, not {first['input']!r}"
    return f", key {key}: {problem}; the keys are {', '.join(owner.model_fields)}"


def find_device(devices: Mapping[str, DeviceModel], name: str) -> DeviceModel:
    """Returns the device called `name`; TickdiskError lists the known ones."""
    if name not in devices:
        raise TickdiskError(f"unknown device {name}; known are {', '.join(devices)}, and files with one device, NAME{FILE}")
    return devices[name]


def is_file(name: str) -> bool:
    """Returns whether a device's name is that of a file with one device."""
    return name.endswith(FILE)


def named(name: str, devices: Path) -> DeviceModel:
    """Returns the device of that name: in the file `devices`, or the one in the file that it names."""
    return load_device(Path(name)) if is_file(name) else find_device(load_devices(devices), name)


def load_device(path: Path) -> DeviceModel:
    """Returns the only device in a YAML file; TickdiskError when there are more."""
    devices = load_devices(path)
    if len(devices) != 1:
        raise TickdiskError(f"{path} has {len(devices)} devices, {', '.join(devices)}; a file named as a device has one")
    return next(iter(devices.values()))
