"""Emulates storage devices whose speed a model gives, so that programs can keep files on a slow disk that does not exist.

A `DeviceModel` says how fast a device is, and `load_devices` reads models from a YAML file. `up` mounts a device with an empty
file system and returns a `MountedDevice`, whose model can be changed, which can be stalled, and whose power can be cut. An image
of a power cut can be written while the device goes on, and be restored on another device. There are several techniques, called
backends. In the usual one, `fuse`, a process called the emulator holds the disk in memory and answers each request when the model
says, earlier by the floor, which is the time that the machine itself adds (`measure_floor`). `simulate` computes completions
without a mount. `recover` removes the devices of processes that have died.
"""

from tickdisk.device.backend import BACKENDS, default_backend, find_backend
from tickdisk.device.clean import has_left, recover
from tickdisk.device.cut import Cut, CutImage, NotRecoveredError
from tickdisk.device.extents import ExtentRecorder, extents_of, writable_extents, written_bytes
from tickdisk.device.floor import measure_floor, seconds_of_round
from tickdisk.device.folder_device import REAL_DISK, check_folder
from tickdisk.device.log import OPS, is_log, read_log
from tickdisk.device.loop import LoopDevice
from tickdisk.device.model import FILE, NO_DELAY, DeviceModel, KeptModel, find_device, is_file, load_device, load_devices, named
from tickdisk.device.mounted import MKFS, DeviceSetting, MountedDevice
from tickdisk.device.mounts import memory_file_system
from tickdisk.device.parts import (
    LONGEST_NS,
    Bucket,
    Cache,
    FitLine,
    Lognormal,
    OpLatency,
    Quantiles,
    QuantilesByInflight,
    Seek,
    Stalls,
)
from tickdisk.device.simulate import Steps, mean_latencies_ns, simulate, simulate_closed, simulate_streams
from tickdisk.device.slower import slower
from tickdisk.device.status import DeviceStatus, EmulatorStatus
from tickdisk.device.up import DEFAULT_FILE_SYSTEM, attach, bring_up, check_memory, is_mounted, name_of, up

__all__ = [
    "BACKENDS",
    "DEFAULT_FILE_SYSTEM",
    "FILE",
    "LONGEST_NS",
    "MKFS",
    "NO_DELAY",
    "OPS",
    "REAL_DISK",
    "Bucket",
    "Cache",
    "Cut",
    "CutImage",
    "DeviceModel",
    "DeviceSetting",
    "DeviceStatus",
    "EmulatorStatus",
    "ExtentRecorder",
    "FitLine",
    "KeptModel",
    "Lognormal",
    "LoopDevice",
    "MountedDevice",
    "NotRecoveredError",
    "OpLatency",
    "Quantiles",
    "QuantilesByInflight",
    "Seek",
    "Stalls",
    "Steps",
    "attach",
    "bring_up",
    "check_folder",
    "check_memory",
    "default_backend",
    "extents_of",
    "find_backend",
    "find_device",
    "has_left",
    "is_file",
    "is_log",
    "is_mounted",
    "load_device",
    "load_devices",
    "mean_latencies_ns",
    "measure_floor",
    "memory_file_system",
    "name_of",
    "named",
    "read_log",
    "recover",
    "seconds_of_round",
    "simulate",
    "simulate_closed",
    "simulate_streams",
    "slower",
    "up",
    "writable_extents",
    "written_bytes",
]
