"""The studies without lives of game servers of their own, such as calibration, replay, and the comparison of network stacks."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from tickdisk.experiment.entry import Card, Count, Design, Seconds, StudyEntry


class CalibrationDesign(Design):
    """The times for which fio measures each device."""

    seconds_per_job: Seconds
    """Measured time of one fio job."""
    fidelity_seconds: Seconds
    """Measured time of one point when devices are compared with their models over queue depths."""
    fidelity_runs: Annotated[int, Field(ge=1, le=20)]
    """Number of runs, far from each other, into which this time is divided. A point is their median."""
    fidelity_depths: Annotated[list[Annotated[int, Field(ge=1, le=1024)]], Field(min_length=1)]
    """Queue depths of these points."""


class Replay(Design):
    """The requests of a captured life again, on other devices."""

    seconds: Seconds
    """How much of the capture is replayed."""


class Checkpoint(Design):
    """The simulated study of checkpoint recovery."""

    ticks: Annotated[int, Field(ge=111)]
    """Simulated ticks of every input; the timeline shows ticks 55 to 110."""
    readings_ticks: Annotated[int, Field(ge=21)]
    """The same where readings other than those stated are tried."""
    updates_per_tick: Annotated[list[Count], Field(min_length=2)]
    """Update rates of the sweep."""
    skews: Annotated[list[Annotated[float, Field(ge=0, lt=1)]], Field(min_length=2)]
    """Skews of the sweep, at 64,000 updates per tick."""


class StoreGame(Design):
    """A game that every algorithm is tried on."""

    name: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
    """Name of the game in tables and figures."""
    rows: Count
    """Rows of ten cells of 4 bytes: the size of the state."""
    updates_per_tick: Count
    """Number of cells that change in a tick."""
    skew: Annotated[float, Field(ge=0, lt=1)]
    """Skew of the Zipf distribution of the updates."""
    save_s: Seconds
    """Time in which checkpoints are made one after the other. A rest of a third of this time follows."""
    device: str
    """Device in data/devices.yaml that the game saves to."""


class Store(Design):
    """Real lives of the store, which are compared with the cost model, and every algorithm on several games."""

    device: str
    """Device in data/devices.yaml on which lives are compared with the cost model."""
    rows: Count
    """Size of the state on that device, in rows of ten cells of 4 bytes."""
    tick_hz: Annotated[float, Field(gt=0)]
    """Ticks per second."""
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


class OtherServers(Design):
    """The comparison of servers. The sizes of their experiments stand under `servers`."""


class Pools(Design):
    """The simulations of storage pools."""

    runs: Count
    """Number of simulations of each case, which differ in the seed of what devices draw."""
    queue_depths: Annotated[tuple[Count, ...], Field(min_length=1)]
    """Queue depths of the published configuration. 24 and 32, which are published, are tried in any case."""
    pools: Annotated[tuple[Count, ...], Field(min_length=1)]
    """Numbers of pools that run at the same time."""


class Netcode(Design):
    """The comparison of network stacks under a prototype of a game."""

    runs: Count
    """Number of lives of each arm on each stack."""
    stacks: Annotated[tuple[str, ...], Field(min_length=1)]
    """Network stacks to compare."""
    idle_players: Annotated[tuple[Count, ...], Field(min_length=1)]
    """Numbers of players who stand still, from small to large."""
    active_players: Annotated[tuple[Count, ...], Field(min_length=1)]
    """Numbers of players who jump and place blocks, from small to large."""
    blocks: Count
    """Number of blocks that each of them places in each step."""
    has_far: bool
    """Whether the stacks are also compared on a link with a delay and losses."""
    control: str
    """Stack on which the controls run. It is one of the stacks that are compared."""
    ramp_s: Seconds
    """Time in which players come or go before a step is steady."""
    steady_s: Seconds
    """Time for which a step is steady."""


_AROUND_S = 1.2
"""Rough time that a life of a network stack takes before and after its steps."""


def _netcode_lives(design: Netcode) -> tuple[int, float]:
    """Returns the number of lives, and the time that they take in s. `tickdisk.netcode.cases` says which lives there are."""
    controls, acting = 3, len(design.active_players) * (1 + design.has_far)
    lives = design.runs * (len(design.stacks) * (1 + acting) + controls)
    # The idle life of a stack begins with a step without players. Every other life has one step.
    steps = lives + design.runs * len(design.stacks) * len(design.idle_players)
    return lives, lives * _AROUND_S + steps * (design.ramp_s + design.steady_s)


class Inspect(Design):
    """The description of loads. The sizes of the experiments whose captures it reads stand under their own names."""


OTHER_SERVERS = StudyEntry(
    "other_servers",
    OtherServers,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "The same disks under other servers",
        "Servers that load and save their worlds in other ways run the switchback and the join burst, too.",
        "paper_servers",
        "Effect of storage latency on ticks, actions and joins, by server",
    ),
    compares=("switchback", "join_burst", "inside_tick"),
    fewest_servers=2,
)
INSPECT = StudyEntry(
    "inspect",
    Inspect,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "The load of each server beside published loads",
        "The captured reads and writes of every server: how many, how large, when, and where.",
        "paper_loads",
        "Sizes of requests, and requests over time, by server",
    ),
    needs=("accesses",),
    compares=("accesses", "inside_tick"),
)
POOLS = StudyEntry(
    "pools",
    Pools,
    evidence=("data/samples/tpcc_p1.biosnoop.zst", "data/samples/tpcc_p2.biosnoop.zst"),
    parameters={"plan": "results/plan.json", "samples": "data/samples"},
    card=Card(
        "Captured requests on pools of disks",
        "The requests of a database, captured once, run on mirrors, on RAID, and on fast disks before slow ones, in simulation.",
        "paper_pools",
        "Throughput over queue depth, and by pool",
    ),
    stated={"runs": "runs"},
)
NETCODE = StudyEntry(
    "netcode",
    Netcode,
    evidence=("results/netcode/lives.parquet", "results/netcode/steps.parquet", "results/netcode/pings.parquet"),
    parameters={"plan": "results/plan.json", "tables": "results/netcode", "runs": "results/runs"},
    card=Card(
        "The network under the same game",
        "One prototype of a game is served on several network stacks, and players measure how long an answer takes.",
        "paper_network",
        "Round-trip time over the number of players, by network stack",
    ),
    stated={"runs": "lives", "blocks": "blocks", "steady_s": "s"},
    compares=("switchback",),
    rights=("networks",),
    lives_apart=_netcode_lives,
    most_parts=lambda design: design.runs,
)
CALIBRATION = StudyEntry(
    "calibration",
    CalibrationDesign,
    evidence=("results/calibration.json", "results/fidelity.json"),
    parameters={
        "plan": "results/plan.json",
        "calibration": "results/calibration.json",
        "fidelity": "results/fidelity.json",
    },
    card=Card(
        "The latency that the emulated devices realise",
        "fio measures every tier, and the device's own log says which latency its model chose for each request.",
        "paper_fidelity",
        "Deviation of realised latency from the model, over queue depth",
    ),
    rights=("devices",),
)
REPLAY = StudyEntry(
    "replay",
    Replay,
    evidence=("results/replay/replay.json",),
    parameters={"plan": "results/plan.json", "replay": "results/replay/replay.json"},
    card=Card(
        "The same requests on another disk",
        "Captured requests are made again at their times, by our replay and by fio.",
        "paper_lateness",
        "How late requests were issued, by our replay and by fio",
    ),
    stated={"seconds": "s"},
    needs=("accesses",),
)
CHECKPOINT = StudyEntry(
    "checkpoint",
    Checkpoint,
    evidence=(
        "results/checkpoint/runs.parquet",
        "results/checkpoint/ticks.parquet",
        "results/checkpoint/checkpoints.parquet",
    ),
    parameters={"sweep": "results/checkpoint"},
    card=Card(
        "Saving a game's state, in simulation",
        "Six methods under the cost model of a published study.",
        "paper_costs",
        "Time added to a tick, time to a checkpoint and to recover, over the update rate, by method",
    ),
    stated={"ticks": "ticks"},
    most_parts=lambda design: len(design.updates_per_tick) + len(design.skews),
)
STORE = StudyEntry(
    "store",
    Store,
    evidence=(
        "results/store/games.parquet",
        "results/store/fitted.parquet",
        "results/store/tested.parquet",
        "results/store/calibrated.json",
    ),
    parameters={"plan": "results/plan.json", "tables": "results/store"},
    card=Card(
        "Saving a game's state, for real",
        "Twelve methods keep a state on an emulated disk.",
        "paper_methods",
        "What each method adds to the ticks of a game",
    ),
    stated={"rows": "rows", "tick_hz": "Hz", "lives": "lives"},
    rights=("devices",),
)
