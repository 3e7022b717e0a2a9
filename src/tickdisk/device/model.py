"""What a device is: latency per operation, bandwidth, parallelism."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tickdisk.errors import TickdiskError


class DeviceModel(BaseModel):
    """A storage device as the emulator knows it.

    A request waits for a free channel; then its latency runs beside its transfer over the pipe that all channels share, and
    it completes when both are over. None is unlimited.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    description: str = ""
    source: str = ""
    """Where the values are from."""
    read_latency_ns: int = Field(ge=0)
    write_latency_ns: int = Field(ge=0)
    flush_latency_ns: int = Field(ge=0)
    discard_latency_ns: int = Field(default=0, ge=0)
    bandwidth_bytes_per_s: int | None = Field(default=None, gt=0)
    channels: int | None = Field(default=None, gt=0)
    burn_ns: int = Field(default=0, ge=0)
    """CPU time that the emulator burns for each request, after its reply (the sham control)."""

    @property
    def latency_ns(self) -> tuple[int, int, int, int]:
        """Latency of a read, a write, a flush and a discard."""
        return self.read_latency_ns, self.write_latency_ns, self.flush_latency_ns, self.discard_latency_ns

    def as_dict(self) -> dict[str, Any]:
        """Returns the name and every parameter; not the description and the source, which change nothing."""
        return self.model_dump(exclude={"description", "source"})

    def with_latency(self, latency_ns: int) -> Self:
        """Returns this device with another latency of reads, writes and flushes, named after it."""
        return self.model_copy(
            update={
                "name": f"{self.name}_{latency_ns / 1000:g}us",
                "read_latency_ns": latency_ns,
                "write_latency_ns": latency_ns,
                "flush_latency_ns": latency_ns,
            }
        )

    def with_burn(self, burn_ns: int) -> Self:
        """Returns this device, under the same name, burning `burn_ns` of CPU time for each request."""
        return self.model_copy(update={"burn_ns": burn_ns})

    def unlimited(self) -> Self:
        """Returns this device without any delay: what set-up and tear-down use."""
        return self.model_copy(
            update={
                "name": f"{self.name}_unlimited",
                "read_latency_ns": 0,
                "write_latency_ns": 0,
                "burn_ns": 0,
                "flush_latency_ns": 0,
                "discard_latency_ns": 0,
                "bandwidth_bytes_per_s": None,
                "channels": None,
            }
        )

    def service_ns(self, length: int) -> int:
        """Returns the time that an idle device takes for a read of `length` bytes."""
        transfer = 0 if self.bandwidth_bytes_per_s is None else round(length * 1e9 / self.bandwidth_bytes_per_s)
        return max(self.read_latency_ns, transfer)


def load_devices(path: Path) -> dict[str, DeviceModel]:
    """Returns the devices in a YAML file, by name; TickdiskError names the file, the device and the key that is wrong."""
    try:
        described = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; give the file that describes the devices") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise TickdiskError(f"{path}, line {line}: not YAML ({error.problem}); correct it") from error
    if not isinstance(described, dict) or not described:
        raise TickdiskError(f"{path}: no devices; write `name:` and its keys below")
    return {str(name): _device(path, str(name), values) for name, values in described.items()}


def _device(path: Path, name: str, values: object) -> DeviceModel:
    if not isinstance(values, dict):
        raise TickdiskError(f"{path}, device {name}: no keys; it needs read_latency_ns, write_latency_ns and flush_latency_ns")
    try:
        return DeviceModel(**{"name": name, **values})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        problem = "unknown key" if first["type"] == "extra_forbidden" else f"{first['msg']}, not {first['input']!r}"
        if first["type"] == "missing":
            problem = "missing"
        known = ", ".join(DeviceModel.model_fields)
        raise TickdiskError(f"{path}, device {name}, key {key}: {problem}; the keys are {known}") from error


def find_device(devices: Mapping[str, DeviceModel], name: str) -> DeviceModel:
    """Returns the device called `name`; TickdiskError lists the known ones."""
    if name not in devices:
        raise TickdiskError(f"unknown device {name}; known are {', '.join(devices)}")
    return devices[name]
