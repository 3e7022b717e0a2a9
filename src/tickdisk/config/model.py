"""The types of `workflow/config/`: every key is described, every unknown key is an error."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Seconds = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
ScaleName = Literal["smoke", "paper", "full"]
ExperimentName = Literal["switchback", "join_burst", "inside_tick", "accesses", "capture_cost"]
StudyName = Literal[
    "switchback", "join_burst", "inside_tick", "accesses", "capture_cost", "calibration", "replay", "checkpoint", "store"
]
Role = Literal["baseline", "null", "sham", "dose", "treatment", "delay"]
PositiveFor = Literal["ticks", "actions"]
Tool = Literal["none", "bpftrace", "strace", "strace_positioned"]
FileSystem = Literal["ext4", "xfs", "btrfs"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class World(_Strict):
    """The world that every run starts from a copy of, generated once per machine."""

    seed: int
    """Seed of the terrain."""
    mapgen: Literal["v7", "v5", "valleys", "carpathian", "flat"]
    """Luanti's terrain generator."""
    edge_blocks: Annotated[int, Field(ge=10, le=1000)]
    """Edge of the square that is generated beforehand, in map blocks of 16 nodes."""


class Calibration(_Strict):
    """The times for which fio measures each device."""

    seconds_per_job: Seconds
    """Measured time of one fio job."""
    fidelity_seconds: Seconds
    """Measured time of one point when devices are compared with their models over queue depths."""
    fidelity_runs: Annotated[int, Field(ge=1, le=20)]
    """Number of runs, far from each other, into which this time is divided. A point is their median."""
    fidelity_depths: Annotated[list[Annotated[int, Field(ge=1, le=1024)]], Field(min_length=1)]
    """Queue depths of these points."""


class _Roaming(_Strict):
    """Players that roam, each on its own ground."""

    save_period_s: Seconds
    """Luanti's server_map_save_interval (5.3 s unless told otherwise)."""
    players: Count
    """Connected players, each on its own ground."""
    teleport_period_s: Seconds
    """Each player's time from one teleport to stored, not yet loaded terrain to the next."""
    edit_period_s: Seconds
    """Each player's time from one place-and-dig to the next."""
    ping_period_s: Seconds
    """Each player's time from one chat ping to the next."""


class Switchback(_Roaming):
    """One server life in which the device changes from epoch to epoch."""

    lives: Count
    """Server lives; every arm has one epoch in a life, in an order that is balanced over lives. `blocks` on the command line
    replaces it."""
    warm_up_s: Seconds
    """From the first join to the first epoch; fixed from a pilot, the same for all arms."""
    epoch_save_periods: Annotated[float, Field(ge=3)]
    """Length of an epoch in save periods of the server: the first is cut, at least two are analysed."""


class JoinBurst(_Strict):
    """All players join a cold server at once; one run per device and block."""

    blocks: Count
    """Blocks; every arm has one life in a block, in an order that is balanced over blocks. `blocks` on the command line replaces
    it."""
    players: Count
    """Players that join."""
    burst_s: Seconds
    """Time over which their joins are spread evenly."""
    stay_s: Seconds
    """Time from the burst's end to the first leave."""


class InsideTick(_Roaming):
    """Captured server lives into which stalls of the device and of the processor are injected."""

    lives: Count
    """Server lives, each a block of its own. `blocks` on the command line replaces it."""
    warm_up_s: Seconds
    """From the first join to the first stall."""
    stalls: Count
    """Stalls of the device, and as many of the processor, in an order drawn anew, at random times."""
    stall_ms: Count
    """How long the device starts nothing, from the first request after the random time; how long the processor is kept busy."""
    stall_period_s: Seconds
    """Every stall has so much time of its own; it begins at a random time of its first half."""


class Accesses(_Strict):
    """Captured server lives whose players do one kind of thing after another."""

    lives: Count
    """Server lives, each a block of its own; the last third is held out. `blocks` on the command line replaces it."""
    players: Count
    """Connected players, each on its own ground."""
    seconds: Seconds
    """Length of a life, from the first join to the last leave."""
    first_seconds: Seconds
    """The same of the first life, which is the one that is replayed."""
    save_period_s: Seconds
    """Luanti's server_map_save_interval (5.3 s unless told otherwise)."""
    emerge_threads: Count
    """Luanti's num_emerge_threads: threads that read the map."""


class Replay(_Strict):
    """The requests of a captured life again, on other devices."""

    seconds: Seconds
    """How much of the capture is replayed."""


class CaptureCost(_Roaming):
    """One server life in which the capture changes from epoch to epoch, and a micro-workload."""

    lives: Count
    """Server lives; every arm has one epoch in a life, in an order that is balanced over lives. `blocks` on the command line
    replaces it."""
    warm_up_s: Seconds
    """From the first join to the first epoch."""
    epoch_s: Seconds
    """Length of an epoch."""
    cut_s: Seconds
    """Time that is cut off at the beginning of an epoch, in which a capture is started."""
    micro_rounds: Count
    """Rounds of the micro-workload. Every tool has one turn in a round, in a random order."""


class Checkpoint(_Strict):
    """The simulated study of checkpoint recovery."""

    ticks: Annotated[int, Field(ge=111)]
    """Simulated ticks of every input; the timeline shows ticks 55 to 110."""
    readings_ticks: Annotated[int, Field(ge=21)]
    """The same where readings other than those stated are tried."""
    updates_per_tick: Annotated[list[Count], Field(min_length=2)]
    """Update rates of the sweep."""
    skews: Annotated[list[Annotated[float, Field(ge=0, lt=1)]], Field(min_length=2)]
    """Skews of the sweep, at 64,000 updates per tick."""


class StoreGame(_Strict):
    """A game that every algorithm is tried on."""

    name: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    rows: Count
    """Rows of ten cells of 4 bytes: the size of the state."""
    updates_per_tick: Count
    skew: Annotated[float, Field(ge=0, lt=1)]
    """Skew of the Zipf distribution of the updates."""
    save_s: Seconds
    """Time in which checkpoints are made one after the other. A rest of a third of this time follows."""
    device: str
    """Device in data/devices.yaml that the game saves to."""


class Store(_Strict):
    """Real lives of the store, which are compared with the cost model, and every algorithm on several games."""

    device: str
    """Device in data/devices.yaml on which lives are compared with the cost model."""
    rows: Count
    """Size of the state on that device, in rows of ten cells of 4 bytes."""
    tick_hz: Annotated[float, Field(gt=0)]
    warm_up_s: Seconds
    """Time at the beginning of a life that is not counted."""
    save_s: Seconds
    """Time in which checkpoints are made one after the other."""
    rest_s: Seconds
    """Time after it in which no checkpoint begins. It has to be longer than a checkpoint takes."""
    cycles: Count
    """Number of cycles per life. Each cycle has a time with checkpoints and a time without."""
    lives: Count
    """Lives of each algorithm at each update rate and on each game."""
    updates_per_tick: Annotated[list[Count], Field(min_length=1)]
    """Update rates at which real and modelled overhead are compared."""
    fit_updates_per_tick: Annotated[list[Count], Field(min_length=1)]
    """Other update rates, at which the terms of the calibrated model are fitted."""
    games: Annotated[list[StoreGame], Field(min_length=1)]

    @model_validator(mode="after")
    def _tells_apart(self) -> Self:
        both = sorted(set(self.updates_per_tick) & set(self.fit_updates_per_tick))
        if both:
            raise ValueError(
                f"fit_updates_per_tick has {both[0]}, which is compared at; a model is not tested on what it rests on"
            )
        names = [game.name for game in self.games]
        if len(set(names)) < len(names):
            raise ValueError(f"two games are called {max(names, key=names.count)}; rename one")
        return self


class Scale(_Strict):
    """The sizes of all experiments at one scale."""

    description: str
    """The purpose of the scale."""
    world: World
    calibration: Calibration
    switchback: Switchback
    join_burst: JoinBurst
    inside_tick: InsideTick
    accesses: Accesses
    replay: Replay
    capture_cost: CaptureCost
    checkpoint: Checkpoint
    store: Store
    replacements: Annotated[int, Field(ge=0, le=2)]
    """The most times that a life is replaced because something outside the system under test disturbed it."""


class Limits(_Strict):
    """When a server life is replaced, fixed before any run; nothing that a slow disk may cause is among them."""

    steal_share: Share
    """Above this share of CPU time stolen by other machines a life is replaced."""
    pressure_memory_share: Share
    """Above this share of time in which tasks waited for memory a life is replaced."""
    other_programs_share: Share
    """Above this share of all cores' time used by programs outside the testbed a life is replaced; fixed from quiet pilots."""
    client_lag_ms: Annotated[float, Field(gt=0)]
    """Above this p99 lag behind their own schedule the clients were short of CPU. If they were so at the baseline, too, the life
    is replaced; if only elsewhere, what the life says of those arms is not valid."""


class Confirmatory(_Strict):
    """The few claims that are confirmatory; every other claim is one of a scan."""

    experiment: ExperimentName
    arm: str
    """The arm whose effect is claimed."""
    tick_metric: str
    """One metric of ticks, such as gap_max_ms."""
    action: str
    """One kind of action, whose mean latency is the other metric."""


class Decision(_Strict):
    """How the experiments decide; fixed before any run."""

    alpha: Share
    """Two-sided level of every test; intervals have the level 1 - alpha. Holm holds it for the confirmatory claims together,
    Benjamini and Hochberg's procedure holds the share of false discoveries of a scan below it."""
    margin: Share
    """A ratio within 1/(1 + margin) and 1 + margin of the baseline is called equivalent."""
    control_minimum_lives: Annotated[int, Field(ge=3)]
    """Lives below which the positive control is not tested."""
    minimum_lives: Annotated[int, Field(ge=6)]
    """Lives below which every other verdict is `not valid`."""
    planned_life_sd: Annotated[float, Field(gt=0)]
    """Standard deviation of a life's contrast on the log scale, from a pilot; the simulated power rests on it."""
    enough_requests: Count
    """Fewest requests of the server to the device in an epoch, as the median over lives, that put an arm to the test."""
    confirmatory: Confirmatory
    bootstrap_samples: Annotated[int, Field(ge=200)]
    """Resamples of every bootstrap interval."""


class Config(_Strict):
    """`workflow/config/config.yaml` after the command line's `--config` has been merged into it."""

    scale: ScaleName
    """smoke: continuous integration; paper: the published experiments; full: more of them."""
    blocks: Annotated[int, Field(ge=1)] | None = None
    """Lives and blocks per experiment instead of the scale's own numbers; runs accumulate."""
    seed: int
    """Root of every random choice: traces, orders, bootstraps."""
    port: Annotated[int, Field(ge=1024, le=65535)]
    """UDP port of the server on 127.0.0.1."""
    device_size_mib: Annotated[int, Field(ge=64)]
    """Size of the emulated device; memory is taken as it is written."""
    file_system: FileSystem
    """On the emulated device, in live cells, calibration and replay; backend tree is a file system itself, and has no other."""
    leave_out: list[StudyName] = []
    """Studies that do not run; the paper and the page come without them, and say so."""
    limits: Limits
    decision: Decision
    scales: dict[ScaleName, Scale]

    @model_validator(mode="after")
    def _scale_is_described(self) -> "Config":
        if self.scale not in self.scales:
            raise ValueError(f"scale {self.scale} is not under scales; add it or choose one of {', '.join(self.scales)}")
        return self

    @property
    def chosen(self) -> Scale:
        """The scale that runs, with `blocks` put in."""
        scale = self.scales[self.scale]
        if self.blocks is None:
            return scale
        replaced = {
            "switchback": "lives",
            "join_burst": "blocks",
            "inside_tick": "lives",
            "accesses": "lives",
            "capture_cost": "lives",
        }
        return scale.model_copy(
            update={name: getattr(scale, name).model_copy(update={key: self.blocks}) for name, key in replaced.items()}
        )


class Arm(_Strict):
    """One row of `workflow/config/experiments.tsv`: an arm of an experiment."""

    experiment: ExperimentName
    """Experiment that the arm belongs to."""
    arm: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    """Name of the arm in tables and figures."""
    role: Role
    """baseline; null (the baseline again); sham (the slowest arm's CPU cost at its own latency); dose; treatment; delay (the
    probe keeps the tick's thread busy for a known time)."""
    device: str
    """A device of data/devices.yaml, or a file with one device, such as mydisk.yaml."""
    latency_us: Annotated[float, Field(ge=0)] | None = None
    """Latency of every operation instead of the device's own; empty: the device's own."""
    tick_delay_ms: Count | None = None
    """So long the probe keeps the tick's thread busy, again and again while the arm is in force; empty: never."""
    positive_for: PositiveFor | None = None
    """Whether the arm must make ticks or actions slower by construction, and so is their positive control."""
    capture: Tool = "none"
    """The tool that captures: bpftrace; strace (all calls on files); strace_positioned (pread64 and pwrite64 only)."""
    description: str
    """The purpose of the arm."""
