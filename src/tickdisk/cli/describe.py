"""The command `tickdisk describe`."""


def describe() -> None:
    """Prints docs/columns.md, which describes every table and JSON file with the unit of every column and key."""
    from tickdisk.describe import document

    print(document(), end="")
