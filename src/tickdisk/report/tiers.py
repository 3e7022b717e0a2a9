"""The names that prose and figures have for the tiers of devices."""

_NAMES = {
    "memory": "main memory",
    "nvme_ssd": "NVMe SSD",
    "sata_ssd": "SATA SSD",
    "hdd": "hard disk",
}


def tier_name(device: str) -> str:
    """Returns the name of a device in prose.

    Examples
    --------
    >>> tier_name("nvme_ssd"), tier_name("cloud_volume")
    ('NVMe SSD', 'cloud volume')

    """
    return _NAMES.get(device, device.replace("_", " "))
