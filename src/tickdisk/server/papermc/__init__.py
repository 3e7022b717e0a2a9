"""PaperMC, a server of Minecraft's Java edition, from a jar that the user supplies. It was never run here."""

from tickdisk.server.papermc.server import PaperMC

__all__ = ["PaperMC"]
