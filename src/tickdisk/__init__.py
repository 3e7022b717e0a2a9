from tickdisk.errors import TickdiskError

__all__ = ["TickdiskError"]
