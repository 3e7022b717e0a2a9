"""The command `tickdisk predict`."""

from pathlib import Path
from typing import Annotated

import typer

from tickdisk.cli.places import DEVICES, in_project
from tickdisk.foundation.errors import TickdiskError


def predict(
    capture: Annotated[Path, typer.Argument(help="Folder of a captured server life, or of its cell.")],
    *,
    device: Annotated[
        str | None, typer.Option(help="Name of a device in data/devices.yaml, or a YAML file with one device.")
    ] = None,
    latency_ms: Annotated[
        float | None,
        typer.Option(help="Latency in ms of every operation, on the device of the capture.", min=0, max=10_000),
    ] = None,
    life: Annotated[str | None, typer.Option(help="Name of the server life, if the cell has several that were captured.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the prediction as JSON.")] = False,
) -> None:
    """Predicts the tick gaps and the latencies of actions of a captured server life on another device.

    Give the other device with --device or with --latency-ms. The prediction re-times the waits of the captured threads by the
    device's model. It is printed with a control, which says whether the method gives the capture back on its own device.
    """
    from tickdisk import device as devices
    from tickdisk import predict as room

    if (device is None) == (latency_ms is None):
        raise TickdiskError("a prediction needs one other device; give either --device NAME or --latency-ms NUMBER")
    captured = room.load_captured(capture, life)
    if device is not None:
        model = devices.named(device, in_project(DEVICES))
    else:
        model = captured.model.with_latency(round((latency_ms or 0.0) * 1e6))
    prediction = room.predict(captured, model, str(capture))
    if as_json:
        print(prediction.model_dump_json(indent=2))
        return
    for line in room.screen(prediction):
        print(line)
