"""The names of the tiers in prose and figures."""

_NAMES = {
    "memory": "main memory",
    "nvme_ssd": "NVMe SSD",
    "sata_ssd": "SATA SSD",
    "hdd": "hard disk",
}


def tier_name(device: str) -> str:
    """Returns the name of a device in prose, which is its identifier with spaces unless the tier has a name of its own.

    Parameters
    ----------
    device
        Identifier of a device, such as "nvme_ssd".

    Returns
    -------
    str
        The name.

    Examples
    --------
    >>> tier_name("nvme_ssd"), tier_name("cloud_volume")
    ('NVMe SSD', 'cloud volume')
    """
    return _NAMES.get(device, device.replace("_", " "))
