"""Emulated storage devices: their description, emulation and simulation, and the removal of what is left of them.

The room answers when a storage device with given properties completes each request, and it lets programs run on such a device.
A `DeviceModel` describes a device by the latency of each operation, a bandwidth, a number of channels and further parts, such
as a `Cache`. `load_devices` reads models from a YAML file.

- `up` turns a model into a `MountedDevice`, on which programs keep files. A backend is a way to do so (`BACKENDS`). In `fuse`,
  the first choice, a process called the emulator serves one file in memory through FUSE (`src/native`), and answers each request
  at the time that the model says. A loop device makes a block device of that file, and a file system lies on the loop device.
- The floor is the time that the machine adds to the model's latency (`measure_floor`). A setting is a model that is in force from
  one time on (`Setting`). `read_log` returns a row for each request, with its arrival, nominal completion and reply.
- `simulate` computes the completions of given requests without a mounted device.
- `recover` removes what processes that died have left mounted.
"""

from tickdisk.device.backend import BACKENDS, Abilities, Backend, default_backend, find_backend
from tickdisk.device.clean import recover
from tickdisk.device.cut import Cut
from tickdisk.device.extents import ExtentRecorder, extents_of, written_bytes
from tickdisk.device.floor import measure_floor
from tickdisk.device.log import OPS, read_log
from tickdisk.device.loop import Loop
from tickdisk.device.model import FILE, NO_DELAY, DeviceModel, find_device, is_file, load_device, load_devices, named
from tickdisk.device.mounted import MKFS, MountedDevice, Setting
from tickdisk.device.mounts import memory_file_system
from tickdisk.device.parts import (
    LONGEST_NS,
    Bucket,
    Cache,
    FitLine,
    Latency,
    Lognormal,
    OpLatency,
    Quantiles,
    QuantilesByInflight,
    Seek,
    Stalls,
)
from tickdisk.device.simulate import Steps, simulate, simulate_closed, simulate_streams
from tickdisk.device.up import DEFAULT_FILE_SYSTEM, DEFAULT_SIZE_BYTES, Options, attach, bring_up, check_memory, name_of, up

__all__ = [
    "BACKENDS",
    "DEFAULT_FILE_SYSTEM",
    "DEFAULT_SIZE_BYTES",
    "FILE",
    "LONGEST_NS",
    "MKFS",
    "NO_DELAY",
    "OPS",
    "Abilities",
    "Backend",
    "Bucket",
    "Cache",
    "Cut",
    "DeviceModel",
    "ExtentRecorder",
    "FitLine",
    "Latency",
    "Lognormal",
    "Loop",
    "MountedDevice",
    "OpLatency",
    "Options",
    "Quantiles",
    "QuantilesByInflight",
    "Seek",
    "Setting",
    "Stalls",
    "Steps",
    "attach",
    "bring_up",
    "check_memory",
    "default_backend",
    "extents_of",
    "find_backend",
    "find_device",
    "is_file",
    "load_device",
    "load_devices",
    "measure_floor",
    "memory_file_system",
    "name_of",
    "named",
    "read_log",
    "recover",
    "simulate",
    "simulate_closed",
    "simulate_streams",
    "up",
    "written_bytes",
]
