"""The commands, by who calls them."""

import typer

from tickdisk.cli import blame, capture, checkpoint, compare, describe, device, doctor, replay, workflow

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Does the disk under a Minecraft-like server make its players lag, and which disk is good enough?",
)
app.command("doctor")(doctor.doctor)
app.add_typer(device.app, name="device")
app.add_typer(checkpoint.app, name="checkpoint")
app.command("capture", context_settings={"allow_interspersed_args": False})(capture.capture)
app.command("blame")(blame.blame)
app.command("compare")(compare.compare)
app.command("compare-reference")(compare.compare_reference)
app.command("reference")(compare.reference)
app.command("describe")(describe.describe)
app.command("replay")(replay.replay)
app.command("replay-study")(replay.replay_study)
workflow.register(app)
