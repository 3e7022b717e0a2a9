"""Describes storage pools: groups of equal devices, their layout, and the devices for metadata and for a tier."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tickdisk.device import DeviceModel
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import Record, check
from tickdisk.foundation.yaml_file import read_yaml

SEGMENT_BYTES = 64 * 4096
"""Size of a segment, in which a pool gives space to a volume."""


class Group(Record, strict=True):
    """Equal devices over which chunks are spread."""

    device: str
    """Name of the device, a key of data/devices.yaml."""
    devices: Annotated[int, Field(ge=1, le=1000)]
    copies: Annotated[int, Field(ge=0, le=8)] = 0
    """Number of devices that keep the same chunk. 1 is a stripe without redundancy. 0 if there are parities."""
    parities: Annotated[int, Field(ge=0, le=2)] = 0
    """Number of parities of a row of chunks: 1 is RAID 5, and 2 is RAID 6. 0 if there are copies."""
    chunk_kib: Annotated[int, Field(ge=4, le=1 << 20)] = 64

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.copies == 0) == (self.parities == 0):
            raise ValueError("a group has either copies or parities; give one of the two")
        if self.copies and self.devices % self.copies:
            raise ValueError(f"{self.devices} devices cannot keep {self.copies} copies each; make devices a multiple of copies")
        if self.parities and self.devices < self.parities + 2:
            raise ValueError(f"{self.parities} parities need at least {self.parities + 2} devices; give more, or copies")
        return self

    def parameters(self, devices: Mapping[str, DeviceModel], seed: int) -> dict[str, Any]:
        """Returns the values of `GroupSpec` in Rust, with a seed for the devices. Raises TickdiskError for an unknown device."""
        if self.device not in devices:
            raise TickdiskError(f"there is no device {self.device}; take one of {', '.join(devices)}")
        model = devices[self.device]
        return {
            "devices": self.devices,
            "chunk_bytes": self.chunk_kib * 1024,
            "copies": self.copies,
            "parities": self.parities,
            "parameters": model.model_copy(update={"seed": model.seed + seed}).parameters(),
        }


class Tier(Group):
    """Devices that hold segments before they go to the data devices."""

    gib: Annotated[float, Field(gt=0)]
    """Capacity for segments in GiB, after copies and parities."""

    @property
    def segments(self) -> int:
        """Number of segments that the tier holds, at least one."""
        return max(1, int(self.gib * (1 << 30) / SEGMENT_BYTES))


class Pool(Record, strict=True):
    """A storage pool."""

    name: str
    description: str
    source: str
    data: Group
    metadata: Group | Literal["tier"] | None = None
    """Devices of the store of metadata, which appends a page for every new segment. `tier` stands for the devices of the tier."""
    tier: Tier | None = None

    @model_validator(mode="after")
    def _has_tier(self) -> Self:
        if self.metadata == "tier" and self.tier is None:
            raise ValueError("metadata: tier needs a tier; describe the tier, or the devices of the metadata")
        return self

    def parameters(self, devices: Mapping[str, DeviceModel], seed: int) -> dict[str, Any]:
        """Returns the values of `PoolSpec` in Rust, with a seed for the devices. Raises TickdiskError for an unknown device."""
        metadata = self.metadata if isinstance(self.metadata, Group) else None
        return {
            "data": self.data.parameters(devices, seed),
            "metadata": None if metadata is None else metadata.parameters(devices, seed + self.data.devices),
            "is_metadata_on_tier": self.metadata == "tier",
            "tier": None if self.tier is None else self.tier.parameters(devices, seed + self.data.devices),
            "tier_segments": 1 if self.tier is None else self.tier.segments,
        }


def load_pools(path: Path) -> dict[str, Pool]:
    """Reads all pools from a YAML file, such as data/pools.yaml, and returns them by name.

    Raises TickdiskError if the file cannot be read or a description is wrong. The message names the file, the pool and the key.
    """
    described = read_yaml(path, "give the file that describes the pools")
    if not isinstance(described, dict) or not described:
        raise TickdiskError(f"{path} describes no pools; write `name:` and the keys of the pool below it")
    pools = {}
    for name, values in described.items():
        if not isinstance(name, str) or not isinstance(values, dict):
            raise TickdiskError(f"{path}: pool {name} has no keys; give description, source and data below its name")
        pools[name] = check(Pool, {**values, "name": name}, f"{path}, pool {name}", "correct it as the other pools are written")
    return pools
