"""`tickdisk describe`."""


def describe() -> None:
    """Prints docs/data.md: a description of every table and every JSON file, with the unit of every column and key."""
    from tickdisk.describe import document

    print(document(), end="")
