"""The operations whose latencies change apart."""

KINDS = {"read": "reads", "write": "writes", "flush": "flushes"}
"""Operations, as the log of the device names them, with their words."""
ALL, SUM = "all", "sum"
"""Names of the effect of all operations together, and of the sum of their effects, beside the operations."""
