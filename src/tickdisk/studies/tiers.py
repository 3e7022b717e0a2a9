"""The names of the tiers and of the classes of disks in prose and figures."""

_NAMES = {
    "memory": "main memory",
    "nvme_ssd": "NVMe SSD",
    "sata_ssd": "SATA SSD",
    "hdd": "hard disk",
    "nvme_consumer": "consumer NVMe SSD",
    "nvme_datacenter": "data-centre NVMe SSD",
    "sata_ssd_consumer": "consumer SATA SSD",
    "nvme_consumer_slow": "slow consumer NVMe SSD",
    "sata_ssd_datacenter": "data-centre SATA SSD",
    "ceph_sata": "Ceph volume",
    "hdd_7200rpm": "7,200 rpm hard disk",
    "gp3": "gp3 volume",
    "io2_10000": "io2 volume",
    "st1_1tib": "st1 volume",
    "network_volume": "replicated network volume",
}


def tier_name(device: str) -> str:
    """Returns the name of a device in prose: the name of its tier or class, or else its identifier with spaces."""
    return _NAMES.get(device, device.replace("_", " "))
