"""Says a prediction in whole sentences and a table."""

from collections.abc import Iterator

from tickdisk.foundation.numbers import number, percent
from tickdisk.predict.predict import CONTROL, LONGEST, MEAN
from tickdisk.predict.record import Prediction

_WORDS = {LONGEST: "longest tick gap", MEAN: "mean tick gap"}
_COLUMNS = ("metric", "captured", "predicted", "ratio", "one after another", "control")


def screen(prediction: Prediction) -> Iterator[str]:
    """Yields the lines that explain a prediction."""
    yield (
        f"{prediction.capture}: {prediction.server} ticked {prediction.ticks} times on the device {prediction.captured_device}. "
        f"The table says how it would tick, and answer its players, on {prediction.device}."
    )
    rows = [
        (
            _WORDS.get(each.metric, f"mean latency of {each.metric}"),
            f"{number(each.captured_ms)} ms",
            f"{number(each.predicted_ms)} ms",
            number(each.ratio),
            number(each.serial_ratio),
            "" if each.control_ratio is None else number(each.control_ratio),
        )
        for each in prediction.forecasts
    ]
    widths = [max(len(row[column]) for row in [_COLUMNS, *rows]) for column in range(len(_COLUMNS))]
    for row in [_COLUMNS, *rows]:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
    yield (
        "The ratio is the predicted value over the captured one. The column `one after another` has the ratio that comes out if "
        "every request adds the time by which it takes longer. If nothing changed, the ratio would be 1."
    )
    yield _control(prediction)
    yield (
        f"The requests of {prediction.waits_followed} waits for storage are known, and are timed on the other device. "
        f"{prediction.waits_kept} other waits have no request of the device, and take as long as in the capture."
    )
    if prediction.unordered:
        yield f"{prediction.unordered} waits for other threads contradict the order of time, and are left out."
    if not prediction.is_settled:
        yield "The waits for timers and locks do not agree with the times that follow from them, so that the prediction is rough."


def _control(prediction: Prediction) -> str:
    errors = {name: abs((prediction.of(name).control_ratio or 0.0) - 1) for name in (LONGEST, MEAN)}
    worst = max(errors, key=lambda name: errors[name])
    off = f"The control is the captured device, on which the {_WORDS[worst]} comes out with an error of {percent(errors[worst])}"
    if prediction.is_valid:
        return f"{off}. Actions have no such control."
    return f"{off}. The control allows {percent(CONTROL)}, so that the prediction is not valid; capture again on a quiet machine."
