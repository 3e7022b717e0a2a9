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
        f"{prediction.capture}: {prediction.server} ticked {prediction.ticks} times on the device {prediction.captured_device}, "
        f"and this says how it would tick on {prediction.device}."
    )
    rows = [
        (
            _WORDS.get(each.metric, f"mean latency of {each.metric}"),
            f"{number(each.captured_ms)} ms",
            f"{number(each.predicted_ms)} ms",
            number(each.ratio),
            number(each.serial_ratio),
            number(each.control_ratio),
        )
        for each in prediction.forecasts
    ]
    widths = [max(len(row[column]) for row in [_COLUMNS, *rows]) for column in range(len(_COLUMNS))]
    for row in [_COLUMNS, *rows]:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
    yield (
        "The ratio is the predicted value over the captured one. The column `one after another` has the ratio by a rule that "
        "adds the longer latency of every request, and the rule that nothing changes has the ratio 1."
    )
    yield _control(prediction)
    yield (
        f"The prediction follows {prediction.waits_followed} waits for storage to requests of the device. "
        f"{prediction.waits_kept} others have no such request and keep their captured time."
    )
    if prediction.unordered:
        yield f"{prediction.unordered} waits for other threads contradict the order of time, and are left out."
    if not prediction.is_settled:
        yield "Timers and locks do not agree with the times that come out of them, so that the prediction is rough."


def _control(prediction: Prediction) -> str:
    worst = max((prediction.of(name) for name in (LONGEST, MEAN)), key=lambda each: abs(each.control_ratio - 1))
    off = f"On the captured device the method gives the {_WORDS[worst.metric]} within {percent(abs(worst.control_ratio - 1))}"
    if prediction.is_valid:
        return f"{off}, which is its control."
    return f"{off}, and the control allows {percent(CONTROL)}, so the prediction is not valid; capture again on a quiet machine."
