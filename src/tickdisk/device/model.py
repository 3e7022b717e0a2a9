"""The model of a device, with optional parts from `tickdisk.device.parts`, and the YAML files that describe devices."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, PlainSerializer, Strict, ValidationError, model_validator

from tickdisk.device.parts import (
    CONSTANT,
    KINDS,
    Bucket,
    Cache,
    Count,
    FitLine,
    ModelPart,
    Nanoseconds,
    OpLatency,
    Points,
    Seek,
    Stalls,
    median_ns,
    share_up_to,
)
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import problem
from tickdisk.foundation.yaml_file import read_yaml

FILE = ".yaml"
"""Ending by which the name of a device is recognised as the path of a file with one device."""
_PARTS: Mapping[str, type[ModelPart]] = {
    "credits": Bucket,
    "seek": Seek,
    "stalls": Stalls,
    "cache": Cache,
    "fit": FitLine,
    **KINDS,
}
_TIER_NAME = re.compile(r"[a-z][a-z0-9_]*")
_ABOUT = {"description", "source", "tier", "sizing_class", "fit"}


class DeviceModel(ModelPart):
    """The description of a storage device, from which the emulator and `simulate` compute when each request completes.

    A request passes the token buckets and waits for a free channel. Then its latency and its transfer begin at the same time, and
    the request completes when both are over. All channels share the bandwidth. Requests are served in the order of their arrival.
    Each operation has a latency in ns, which is constant or drawn. If a part or limit is None or empty, the device does not have
    it. `load_devices` reads devices from a YAML file such as data/devices.yaml.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: str
    description: str = ""
    source: str = ""
    """The source of the values."""
    tier: bool = False
    """Whether it is one of the paper's tiers, which are calibrated on every machine."""
    sizing_class: bool = False
    """Whether it is a class of disks that people buy, for which the sizing table says if it is good enough."""
    read_latency_ns: OpLatency
    write_latency_ns: OpLatency
    flush_latency_ns: OpLatency
    discard_latency_ns: OpLatency = 0
    bandwidth_bytes_per_s: Count | None = None
    """Bytes of reads and writes that all channels together transfer in a second."""
    channels: Annotated[int, Field(gt=0, le=1 << 20)] | None = None
    """Number of requests that are served at the same time. Later ones wait for a free channel."""
    load: Points = ()
    """Pairs of a number of requests in flight and the factor that multiplies the latency, from [1, 1] on. The factor is linear
    between the pairs, and keeps its last slope beyond them."""
    credits: Annotated[tuple[Bucket, ...], Strict(False)] = ()
    """Token buckets that reads and writes pass, by which a cloud volume limits requests and bytes."""
    seek: Seek | None = None
    stalls: Stalls | None = None
    cache: Cache | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 64)] = 0
    """Seed of everything that is drawn. With the same seed, the same arrivals have the same completions."""
    burn_ns: Nanoseconds = 0
    """CPU time that the emulator wastes on each request, after its reply. The sham arm uses it."""
    fit: Annotated[tuple[FitLine, ...], Strict(False)] = ()
    """Closeness of the model to the measurements of the real disk, if the device is a profile. It is empty for other devices."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        depths, factors = [depth for depth, _ in self.load], [factor for _, factor in self.load]
        if self.load and ([depths[0], factors[0]] != [1, 1] or depths != sorted(set(depths)) or factors != sorted(factors)):
            raise ValueError("load has to begin with [1, 1], its requests in flight have to rise, and its factors must not fall")
        if self.seek is not None and (self.channels != 1 or self.bandwidth_bytes_per_s is None):
            raise ValueError("a device with seek needs channels: 1 and a bandwidth, because bytes pass under its one arm")
        if (self.tier or self.sizing_class) and not _TIER_NAME.fullmatch(self.name):
            raise ValueError(
                "the name of a tier or of a sizing class has small letters, digits and _ only, because facts are named after it: "
                f"{self.name}"
            )
        return self

    @property
    def latency_ns(self) -> tuple[int, int, int, int]:
        """Median latencies in ns of a read, a write, a flush and a discard on the idle device.

        On a device with an arm, reads and uncached writes include the shortest seek and half a revolution.
        """
        seek_ns = 0 if self.seek is None else self.seek.least_ns + self.seek.revolution_ns // 2
        write_ns = seek_ns + median_ns(self.write_latency_ns) if self.cache is None else median_ns(self.cache.latency_ns)
        read_ns = seek_ns + median_ns(self.read_latency_ns)
        return read_ns, write_ns, median_ns(self.flush_latency_ns), median_ns(self.discard_latency_ns)

    def shares_up_to(self, longest_ns: float) -> tuple[float, float, float]:
        """Returns the shares of reads, writes and flushes whose latencies are at most `longest_ns` on the idle device.

        They are those of the latencies alone, without an arm and a cache.
        """
        read, write, flush = self.read_latency_ns, self.write_latency_ns, self.flush_latency_ns
        return share_up_to(read, longest_ns), share_up_to(write, longest_ns), share_up_to(flush, longest_ns)

    def as_dict(self) -> dict[str, Any]:
        """Returns all that decides when the device completes requests, as a dict that JSON can hold. Results keep this form.

        Description, source, tier, sizing_class and fit are left out. Two devices with the same values behave alike.
        """
        return self.model_dump(mode="json", exclude=_ABOUT)

    def parameters(self) -> dict[str, Any]:
        """Returns the parameters as the Rust struct `Parameters` names them, with latencies in a list in the order of `OPS`."""
        values = self.model_dump(mode="json", exclude=_ABOUT | {"name", "burn_ns"})
        return {"latency_ns": [values.pop(f"{op}_latency_ns") for op in ("read", "write", "flush", "discard")], **values}

    def with_latency(self, latency_ns: int) -> Self:
        """Returns this device with one constant latency of reads, writes and flushes, as `with_latencies` does."""
        return self.with_latencies(latency_ns, latency_ns, latency_ns)

    def with_latencies(self, read_ns: int, write_ns: int, flush_ns: int) -> Self:
        """Returns this device with constant latencies of reads, writes and flushes, and with the latencies in its name.

        An experiment makes such devices to vary only the latency. A write into a cache has that of writes. The new device has
        no load factors and no arm, so that its latency depends neither on requests in flight nor on places. Bandwidth, channels,
        token buckets, stalls and the size of a cache stay.
        """
        cache = None if self.cache is None else self.cache.model_copy(update={"latency_ns": write_ns})
        named = {"read": read_ns, "write": write_ns, "flush": flush_ns}
        is_one = len(set(named.values())) == 1
        parts = [_us(read_ns)] if is_one else [f"{op}_{_us(latency_ns)}" for op, latency_ns in named.items()]
        return self.model_copy(
            update={
                "name": "_".join([self.name, *parts]),
                "read_latency_ns": read_ns,
                "write_latency_ns": write_ns,
                "flush_latency_ns": flush_ns,
                "load": (),
                "seek": None,
                "cache": cache,
            }
        )

    def with_burn(self, burn_ns: int) -> Self:
        """Returns this device, under the same name, with `burn_ns` of CPU time wasted on each request, as a sham needs."""
        return self.model_copy(update={"burn_ns": burn_ns})

    def with_seed(self, seed: int) -> Self:
        """Returns this device, under the same name, with another seed, which is at least 0 and below 2**64."""
        return self.model_copy(update={"seed": seed})

    def steady(self) -> Self:
        """Returns a device whose constant latencies are the medians of this device while it is idle.

        The floor is measured with it, because a latency that varies would hide the time that the machine adds. Bandwidth and
        channels stay. Load factors and optional parts do not.
        """
        ops = dict(zip(("read", "write", "flush", "discard"), self.latency_ns, strict=True))
        update: dict[str, Any] = {f"{op}_latency_ns": latency_ns for op, latency_ns in ops.items()}
        return self.model_copy(update=update | {"load": (), "credits": (), "seek": None, "stalls": None, "cache": None})

    def unlimited(self) -> Self:
        """Returns a device without any delay, for the time in which an experiment sets a device up or takes it down."""
        about = {"name": f"{self.name}_unlimited", "description": self.description, "source": self.source}
        return self.model_validate({**about, "read_latency_ns": 0, "write_latency_ns": 0, "flush_latency_ns": 0})

    def service_ns(self, length: int, op: str = "read") -> int:
        """Returns the median time in ns of a request of `length` bytes on the idle device, without the floor.

        `op` is read or write. For anything else, such as a mix of both, the mean of their latencies is taken.
        """
        read_ns, write_ns, *_ = self.latency_ns
        latency_ns = {"read": read_ns, "write": write_ns}.get(op, (read_ns + write_ns) // 2)
        transfer = 0 if self.bandwidth_bytes_per_s is None else round(length * 1e9 / self.bandwidth_bytes_per_s)
        return max(latency_ns, transfer)


KeptModel = Annotated[DeviceModel, PlainSerializer(DeviceModel.as_dict)]
"""A device model in a file of results, as `DeviceModel.as_dict` keeps it."""
NO_DELAY = DeviceModel(name="no_delay", read_latency_ns=0, write_latency_ns=0, flush_latency_ns=0)


def _us(latency_ns: int) -> str:
    return f"{latency_ns / 1000:.3f}".rstrip("0").rstrip(".") + "us"


def load_devices(path: Path) -> dict[str, DeviceModel]:
    """Reads device models, by name, from a YAML file. If it is wrong, TickdiskError names the file, device and key."""
    described = read_yaml(path, "give the file that describes the devices")
    if not isinstance(described, dict) or not described:
        raise TickdiskError(f"{path} describes no devices; write `name:` and the keys of the device below it")
    for name in described:
        if not isinstance(name, str):
            raise TickdiskError(f"{path}: the name of a device is a word, not {name}; write it in quotes")
    return {name: _device(path, name, values) for name, values in described.items()}


def _device(path: Path, name: str, values: object) -> DeviceModel:
    if not isinstance(values, dict):
        raise TickdiskError(f"{path}, device {name} has no keys; give read_latency_ns, write_latency_ns, flush_latency_ns")
    odd = [key for key in values if not isinstance(key, str) or key == "name"]
    if odd:
        raise TickdiskError(f"{path}, device {name}, key {odd[0]}: unknown key; the name stands above, and keys are words")
    try:
        return DeviceModel(name=name, **values)
    except ValidationError as error:
        parts = (_PARTS[str(part)] for part in reversed(error.errors()[0]["loc"][:-1]) if str(part) in _PARTS)
        keys = ", ".join(next(parts, DeviceModel).model_fields)
        raise TickdiskError(f"{path}, device {name}: {problem(error, {CONSTANT, *KINDS})}; the keys are {keys}") from error


def find_device(devices: Mapping[str, DeviceModel], name: str) -> DeviceModel:
    """Returns the device model with a given name. If the name is unknown, TickdiskError lists the known ones."""
    if name not in devices:
        raise TickdiskError(f"unknown device {name}; known are {', '.join(devices)}, and files with one device, NAME{FILE}")
    return devices[name]


def is_file(name: str) -> bool:
    """Returns whether the name of a device is the path of a YAML file with one device, and not a name in a list of devices."""
    return name.endswith(FILE)


def named(name: str, devices: Path) -> DeviceModel:
    """Returns the device model that a user named, by a name in the file `devices` or by the path of a file with one device.

    If the name is unknown, or a file cannot be read or is wrong, TickdiskError is raised.
    """
    return load_device(Path(name)) if is_file(name) else find_device(load_devices(devices), name)


def load_device(path: Path) -> DeviceModel:
    """Reads the device model from a YAML file. If the file does not have exactly one, TickdiskError is raised."""
    devices = load_devices(path)
    if len(devices) != 1:
        raise TickdiskError(f"{path} has {len(devices)} devices, {', '.join(devices)}; name a file that has only one")
    return next(iter(devices.values()))
