"""The result of a prediction."""

from typing import Literal

from tickdisk.foundation.record import Record


class Forecast(Record):
    """One metric of the captured server life on another device, in ms."""

    metric: str
    """The name of the metric: longest_gap, mean_gap, or the kind of an action."""
    captured_ms: float
    predicted_ms: float
    ratio: float
    """The predicted value over the captured one."""
    serial_ratio: float
    """The same ratio by a rival: every request in a tick, or in an action, adds its longer latency to it. The other rival says
    that nothing changes, so that its ratio is 1."""
    control_ratio: float | None
    """The value of a tick gap that the method gives on the captured device, over the captured one. It is 1 if the method is right
    there. It is null for an action: differences are added to captured latencies, and on the captured device they are 0 by
    construction, which is no control."""


class Prediction(Record):
    """The metrics of a captured server life on another device."""

    capture: str
    """The folder of the server life."""
    server: str
    """The title of the game server."""
    captured_device: str
    """The device of the capture."""
    device: str
    """The other device."""
    verdict: Literal["predicted", "not valid"]
    """It is `not valid` if the method does not give the captured tick gaps back on the captured device."""
    ticks: int
    """The number of tick gaps."""
    waits_followed: int
    """The number of waits for storage that were followed to requests of the device."""
    waits_kept: int
    """The number of waits for storage without a request of the device. They take as long as in the capture."""
    unordered: int
    """The number of waits of one step for another that contradict the order of time and are left out. Lost events make some."""
    is_settled: bool
    """Whether the waits for timers and locks agree with the times that follow from them. If not, the last of many rounds
    counts."""
    forecasts: tuple[Forecast, ...]

    @property
    def is_valid(self) -> bool:
        """Whether the method gives the capture back."""
        return self.verdict == "predicted"

    def of(self, metric: str) -> Forecast:
        """Returns the forecast of a metric, by its name."""
        return next(forecast for forecast in self.forecasts if forecast.metric == metric)
