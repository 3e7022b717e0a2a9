"""The commands, by who calls them."""

import typer

from tickdisk.cli import device, doctor, workflow

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Does the disk under a Minecraft-like server make its players lag, and which disk is good enough?",
)
app.command("doctor")(doctor.doctor)
app.add_typer(device.app, name="device")
workflow.register(app)
