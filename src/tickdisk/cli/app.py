"""The command line's list of commands, in two groups: those for people, and those for the rules of the workflow."""

import typer

from tickdisk.cli import (
    analyse,
    behaviour,
    blame,
    capture,
    check,
    checkpoint,
    claim,
    compare,
    convert,
    describe,
    device,
    doctor,
    inspect,
    netcode,
    pools,
    predict,
    replay,
    server,
    sweep,
    watch,
    workflow,
)

_TYPED = "Commands for people"
_CALLED = "Commands that the rules of the workflow call (they also work by hand)"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Does the disk under a Minecraft-like server make its players lag, and which disk is good enough?",
)
for name, command in (
    ("check", check.check),
    ("watch", watch.watch),
    ("doctor", doctor.doctor),
    ("blame", blame.blame),
    ("predict", predict.predict),
    ("replay", replay.replay),
    ("convert", convert.convert),
    ("inspect", inspect.inspect),
    ("pools", pools.pools),
    ("claim", claim.claim),
    ("sweep", sweep.sweep),
    ("compare", compare.compare),
    ("reference", compare.reference),
    ("analyse", analyse.analyse),
    ("prices", compare.prices),
    ("sizing", compare.sizing),
):
    app.command(name, rich_help_panel=_TYPED)(command)
app.command("capture", rich_help_panel=_TYPED, context_settings={"allow_interspersed_args": False})(capture.capture)
app.add_typer(device.app, name="device", rich_help_panel=_TYPED)
app.add_typer(server.app, name="server", rich_help_panel=_TYPED)
app.add_typer(behaviour.app, name="behaviour", rich_help_panel=_TYPED)
app.add_typer(netcode.app, name="netcode", rich_help_panel=_TYPED)
app.add_typer(checkpoint.app, name="checkpoint", rich_help_panel=_TYPED)
for called in (*workflow.COMMANDS, compare.compare_reference, describe.describe):
    app.command(called.__name__.replace("_", "-"), rich_help_panel=_CALLED)(called)
