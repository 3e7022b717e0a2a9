"""The names of the tiers in prose and figures."""

_NAMES = {
    "memory": "main memory",
    "nvme_ssd": "NVMe SSD",
    "sata_ssd": "SATA SSD",
    "hdd": "hard disk",
}


def tier_name(device: str) -> str:
    """Returns the name of a device in prose: the name of its tier, or else its identifier with spaces."""
    return _NAMES.get(device, device.replace("_", " "))
