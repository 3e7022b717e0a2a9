"""A server that is simulated with known costs: what the study finds must be those costs."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from tickdisk import TickdiskError, accesses, stats
from tickdisk.foundation import table
from tickdisk.player.explore import explore

PLACES = [(x * 80 + 8, 4, z * 80 + 8) for z in range(20) for x in range(20)]
S = 1_000_000_000
START_NS, STEP_NS, PERIOD_NS = 5_000 * S, 90_000_000, 2 * S
COSTS = {
    "region load": {("terrain", "read"): 40},
    "region flush": {("terrain unloaded", "write"): 12, ("terrain unloaded", "sync"): 2},
    "player load": {("player", "read"): 6, ("other", "sync"): 1},
    "player update": {("player", "write"): 8, ("player", "sync"): 3},
    "terrain modification": {("terrain", "write"): 10, ("terrain", "read"): 2, ("terrain", "sync"): 1},
    "liquid flow": {("terrain", "write"): 3},
    "privilege check": {("player", "read"): 2},
    "save tick": {("other", "write"): 2},
}
FILES = {"terrain": "/w/map.sqlite", "player": "/w/players.sqlite", "other": "/w/env_meta.txt.~mt"}
TICKS, EMERGES = 7, 8
TAKES_S = {"join": 0.3, "teleport": 0.2, "place": 0.06, "dig": 0.06, "leave": 0.02}


@dataclass
class Server:
    """Writes down what it would have asked of its storage; knows nothing of the study."""

    rng: np.random.Generator
    rows: list = field(default_factory=list)

    def cost(self, routine, at_ns, within_ns=0, times=1):
        for (data, op), number in COSTS[routine].items():
            for _ in range(number * times):
                when = at_ns + int(self.rng.integers(within_ns + 1))
                offset = 4096 * int(self.rng.integers(1000))
                thread = EMERGES if routine == "region load" else TICKS
                kind = data.split()[0]
                self.rows.append((when, op, FILES[kind], offset, 0 if op == "sync" else 4096, kind, thread))

    def requests(self):
        frame = pd.DataFrame(self.rows, columns=["start_ns", "op", "file", "offset", "result", "data", "thread"])
        frame = frame.sort_values("start_ns", kind="stable", ignore_index=True)
        frame = frame.assign(seq=frame.index, level="syscall", call=frame["op"], latency_ns=1000, thread_name="Server")
        frame = frame.assign(process=7, errno=0, length=frame["result"])
        return frame.astype({"offset": "Int64", "length": "Int64"}).reindex(columns=table.SCHEMAS["requests"].names)


def play(seed, players=6, seconds=70.0):
    """Returns requests, actions, phases and steps of a life of the simulated server."""
    rng, explored = np.random.default_rng(seed), explore(PLACES, seed=seed, players=players, seconds=seconds)
    server, actions = Server(rng), []
    for event in explored.events:
        issued = START_NS + event.due_ns + int(rng.integers(2_000_000))
        took = round(TAKES_S[event.action] * S)
        actions.append((event.player, event.action, START_NS + event.due_ns, issued, issued + took, "completed", ""))
    steps = np.arange(START_NS - 3 * S, START_NS + round((seconds + 4) * S), STEP_NS)
    saves = steps[np.searchsorted(steps, np.arange(steps[0] + 1, steps[-1], PERIOD_NS))]
    earliest, latest = accesses.unload_after_s(29)
    changes = []  # of the number of places in memory
    for _, action, _, issued, completed, _, _ in actions:
        if action in {"join", "teleport"}:
            begin = (issued + completed) // 2 if action == "join" else issued
            server.cost("region load", begin, completed - begin)
            changes.append((completed, 1))
        if action == "join":
            server.cost("player load", begin, completed - begin)
        if action in {"teleport", "leave"}:
            unloaded = issued + round(rng.uniform(earliest, latest) * S)
            server.cost("region flush", unloaded)
            changes.append((unloaded, -1))
        if action in {"teleport", "place", "dig"}:
            server.cost("privilege check", issued)
        if action == "leave":
            server.cost("player update", issued + int(rng.integers(600_000_000)))
    last = saves[0]
    for save in saves:
        since = [(player, action) for player, action, _, issued, *_ in actions if last <= issued < save]
        gone = {player for player, action in since if action == "leave"}
        changed = {player for player, action in since} - gone
        edited = {player for player, action in since if action in {"place", "dig"}}
        server.cost("player update", save + 1_000_000, times=len(changed))
        server.cost("liquid flow", save + 1_000_000, times=sum(change for at, change in changes if at < save))
        server.cost("terrain modification", save + 1_000_000, times=len(edited))
        server.cost("save tick", save + 5_000_000)
        last = save
    names = ["player", "action", "due_ns", "issued_ns", "completed_ns", "outcome", "detail"]
    table_of_actions = pd.DataFrame(actions, columns=names).astype({"issued_ns": "Int64", "completed_ns": "Int64"})
    return server.requests(), table_of_actions, explored.phases, steps


def life_of(seed, **plan):
    requests, actions, phases, steps = play(seed, **plan)
    chosen = accesses.select(requests).table
    times = [(phase.name, START_NS + round(phase.start_s * S), START_NS + round(phase.end_s * S)) for phase in phases]
    frame = pd.DataFrame(times, columns=["name", "start_ns", "end_ns"])
    return accesses.life_of(f"life {seed}", chosen, actions, frame, steps_ns=steps, unload_timeout_s=29)


@pytest.fixture(scope="module")
def lives():
    return [life_of(seed) for seed in range(6)]


def test_saves_are_found_where_they_were(lives):
    for life in lives:
        gaps = np.diff(life.saves["end_ns"])
        assert abs(gaps - PERIOD_NS).max() <= STEP_NS
        assert (life.saves["end_ns"] - life.saves["start_ns"]).between(5_000_000, 6_000_000).all()
        assert len(life.saves) == 39  # 77 s with one every 2 s


def test_what_is_unloaded_in_the_step_of_a_save_is_not_saved():
    # By hand: steps at 0, 100 and 200; in the second the map is written twice, then a player, then the environment.
    journal, base = "/w/map.sqlite-journal", "/w/map.sqlite"
    rows = [
        (10, "/w/env_meta.txt", 0, 532, "write", 7),
        (110, journal, 0, 512, "write", 7), (111, journal, 512, 4, "write", 7), (112, journal, 0, 12, "write", 7),
        (113, base, 4096, 4096, "write", 7), (114, base, None, 0, "sync", 7),
        (120, journal, 0, 512, "write", 7), (121, journal, 0, 12, "write", 7), (122, base, 8192, 4096, "write", 7),
        (123, base, 0, 4096, "read", 8),
        (130, "/w/players.sqlite-journal", 0, 512, "write", 7), (140, "/w/env_meta.txt", 0, 532, "write", 7),
        (210, "/w/env_meta.txt", 0, 532, "write", 7),
    ]  # fmt: skip
    found = pd.DataFrame(rows, columns=["at_ns", "file", "offset", "asked_bytes", "op", "thread"]).astype({"offset": "Int64"})
    scale = 10_000_000  # the writes of different saves must not look like one
    found = found.assign(at_ns=found["at_ns"] * scale, end_ns=found["at_ns"] * scale + 1, data="terrain")
    found["store"] = found["file"].str.split("/").str[-1].str.removesuffix("-journal")
    found["bytes"] = found["asked_bytes"]
    saves = accesses.saves(found, [0, 100 * scale, 200 * scale])
    assert (saves["start_ns"] / scale).tolist() == [0, 120, 200]
    number = accesses.save_of(found, saves)
    assert (found.loc[number == 1, "at_ns"] / scale).tolist() == [120, 121, 122, 130, 140]
    assert (found.loc[number.isna(), "at_ns"] / scale).tolist() == [110, 111, 112, 113, 114, 123]


def test_a_capture_without_saves_is_an_error(lives):
    rows = lives[0].accesses
    with pytest.raises(TickdiskError, match="shows 0 saves of the server"):
        accesses.saves(rows[rows["store"] != "env_meta.txt"], [0])


def test_a_life_ends_with_its_last_save(lives):
    requests, actions, _, steps = play(0)
    more = requests.tail(1).assign(start_ns=int(steps[-1]) + 10 * S, op="write", file="/w/map.sqlite", seq=len(requests))
    longer = accesses.select(pd.concat([requests, more], ignore_index=True)).table
    found = accesses.life_of("x", longer, actions, lives[0].phases, steps_ns=steps, unload_timeout_s=29)
    assert len(longer) > len(found.accesses) == len(lives[0].accesses)
    assert found.accesses["at_ns"].max() < found.saves["end_ns"].iloc[-1]


def test_windows_count_every_access_between_the_first_and_the_last_save(lives):
    for life in lives:
        edges = life.saves["end_ns"].to_numpy()
        inside = life.accesses[life.accesses["at_ns"].between(edges[0], edges[-1], inclusive="left")]
        for of, total in (("requests", len(inside)), ("bytes", inside["bytes"].sum())):
            assert accesses.counts(life.accesses, edges, of).to_numpy().sum() == total


def test_events_are_those_of_the_trace(lives):
    for life in lives:
        did, done = accesses.events(life).sum(), life.actions["action"].value_counts()
        assert did["player load"] == pytest.approx(6)
        assert did["region load"] == pytest.approx(6 + done["teleport"])
        assert did["save tick"] == len(life.saves) - 1
        assert 0 < did["region flush"] < done["teleport"] + 6  # some places are left less than half a minute before the end
        assert did["terrain modification"] == edited_places(life)


def edited_places(life):
    """Places with an edit, counted once for each save that follows: by hand, save after save."""
    begins, total = life.saves["start_ns"].tolist(), 0
    for begin, end in pairwise(begins):
        stays, touched = dict.fromkeys(life.actions["player"], 0), set()
        for action in life.actions.sort_values("issued_ns").itertuples():
            stays[action.player] += action.action == "teleport"
            if action.action in {"place", "dig"} and begin <= action.issued_ns < end:
                touched.add((action.player, stays[action.player]))
        total += len(touched)
    return total


def test_the_fit_recovers_the_costs(lives):
    found = accesses.fit(lives, rng=np.random.default_rng(1), samples=200, alpha=0.05)
    assert (found.lives, found.windows) == (6, 6 * 38)
    for routine, costs in COSTS.items():
        for column in found.value.columns:
            value, truth = found.value.loc[routine, column], costs.get(column, 0)
            assert value == pytest.approx(truth, rel=0.1, abs=0.3)
            assert found.low.loc[routine, column] <= value <= found.high.loc[routine, column]
    assert set(accesses.nonzero_coefficients(found)["routine"]) == set(COSTS)


def test_bytes_are_requests_times_their_size(lives):
    requests, octets = accesses.estimate(lives), accesses.estimate(lives, of="bytes")
    moved = [column for column in requests.columns if column[1] != "sync"]
    pd.testing.assert_frame_equal(octets[moved], 4096 * requests[moved], rtol=1e-6, atol=1e-3)


def test_lives_that_were_held_out_are_predicted(lives):
    errors = accesses.errors(accesses.estimate(lives[:4]), lives[4:])
    assert errors["life"].tolist() == ["life 4", "life 5"]
    assert errors["error"].abs().max() < 0.03
    for life, row in zip(lives[4:], errors.itertuples(), strict=True):
        edges = life.saves["end_ns"].to_numpy()
        inside = life.accesses["at_ns"].between(edges[0], edges[-1], inclusive="left").sum()
        assert row.observed == pytest.approx(inside / ((edges[-1] - edges[0]) / 60e9))
    assert accesses.errors_in_turn(lives)["error"].abs().max() < 0.03
    assert accesses.errors_in_turn(lives[:1]).empty


def test_a_wrong_model_is_seen_to_be_wrong(lives):
    errors = accesses.errors(2 * accesses.estimate(lives[:4]), lives[4:])
    assert errors["error"].to_numpy() == pytest.approx(1, abs=0.06)


def test_a_routine_without_an_event_has_no_coefficient():
    short = [life_of(seed, seconds=20.0) for seed in range(2)]  # nothing is unloaded yet
    found = accesses.fit(short, rng=np.random.default_rng(1), samples=50, alpha=0.05)
    assert found.value.loc["region flush"].isna().all()
    assert found.value.drop(index="region flush").notna().all(axis=None)
    alone = accesses.fit(short[:1], rng=np.random.default_rng(1), samples=50, alpha=0.05)
    assert alone.low.isna().all(axis=None)


def test_the_bootstrap_interval_covers_the_truth():
    rng, covered = np.random.default_rng(3), []
    pool = [life_of(seed, seconds=30.0) for seed in range(20, 44)]
    for start in range(0, 24, 4):
        found = accesses.fit(pool[start : start + 4], rng=rng, samples=100, alpha=0.05)
        column = ("player", "write")
        covered.append(found.low.loc["player update", column] <= 8 <= found.high.loc["player update", column])
    assert sum(covered) >= 4


def test_requests_over_regions_lie_on_a_line(lives):
    points = accesses.region_points(lives)
    assert points.groupby("kind").size().to_dict() == {"joins": 12, "teleports": 18}
    line = accesses.line(points[points["kind"] == "teleports"], y="reads", alpha=0.05)
    assert line.slope == pytest.approx(40, rel=0.02)
    assert line.low <= line.slope <= line.high
    assert line.r_squared > 0.99
    joins = accesses.line(points[points["kind"] == "joins"], y="reads", alpha=0.05)
    assert joins.slope == pytest.approx(40, rel=0.05)
    ratios = accesses.ratio_of_rates(points[points["kind"] == "teleports"], y="reads")
    assert len(ratios) == 6
    assert abs(ratios).max() < 0.05


def test_what_is_not_in_proportion_shows_in_the_ratio_of_rates():
    regions = np.array([4.0, 8.0, 16.0])
    points = pd.concat([pd.DataFrame({"life": str(n), "regions": regions, "requests": regions**2}) for n in range(3)])
    assert np.exp(accesses.ratio_of_rates(points)).tolist() == pytest.approx([4, 4, 4])
    assert accesses.line(points.head(3), alpha=0.05).slope == pytest.approx(np.polyfit(regions, regions**2, 1)[0])


def test_causes_are_found_and_nothing_else(lives):
    found = accesses.effects(lives, 0.05).set_index(["interaction", "data", "op"])
    per_event = found["per_event"]
    assert per_event["server join", "terrain", "read"] == pytest.approx(40, rel=0.05)
    assert per_event["server join", "player", "read"] == pytest.approx(6, rel=0.05)
    assert per_event["server leave", "player", "write"] == pytest.approx(8, rel=0.05)
    assert per_event["position change", "terrain", "read"] == pytest.approx(40, rel=0.05)
    assert per_event["region flush", "terrain", "write"] == pytest.approx(12, rel=0.1)
    causes = {(cause, data, op) for (cause, data, op), row in found.iterrows() if row["p_adjusted"] < 0.05}
    assert causes >= {
        ("server join", "terrain", "read"), ("server join", "player", "read"), ("server join", "player", "write"),
        ("position change", "terrain", "read"), ("position change", "player", "write"),
        ("position change", "player", "read"), ("terrain modification", "terrain", "write"),
        ("terrain modification", "player", "write"), ("server leave", "player", "write"), ("region flush", "terrain", "write"),
    }  # fmt: skip
    assert not causes & {
        ("server join", "other", "write"), ("position change", "other", "write"), ("terrain modification", "other", "write"),
        ("server leave", "other", "write"), ("server leave", "player", "read"), ("server leave", "terrain", "read"),
        ("server leave", "terrain", "write"),
    }  # fmt: skip


def test_what_is_written_at_once_and_what_waits(lives):
    for life in lives:
        shares = accesses.delayed(life.accesses, life.saves).set_index("data")
        flushed = accesses.flushes(life.accesses, life.saves)
        assert shares.loc["other", "share_saved_bytes"] == 1
        assert 0.2 < shares.loc["terrain", "share_saved_bytes"] < 1  # saves, and unloading
        assert 0.7 < shares.loc["player", "share_saved_bytes"] < 1  # saves, and leaves
        written = life.accesses[life.accesses["op"] != "read"]
        inside = accesses.save_of(written, life.saves).notna()
        assert flushed["requests"].sum() == inside.sum()
        assert flushed["syncs"].sum() == (written[inside]["op"] == "sync").sum()
        assert flushed["seconds"].between(0, 0.006).all()


def test_the_summary_of_a_life(lives):
    row = accesses.summary(lives).loc["life 0"]
    rows = lives[0].accesses
    assert (row["reads"], row["writes"], row["syncs"]) == tuple((rows["op"] == op).sum() for op in ("read", "write", "sync"))
    assert row["share_4_8_kib"] == 1
    assert row["share_sequential_reads"] < 0.01
    assert row["share_sequential_writes"] < 0.01
    assert row["save_period_s"] == pytest.approx(2, abs=0.01)


def test_bytes_so_far_end_at_the_total(lives):
    rows = lives[0].accesses
    last = accesses.cumulative(rows, START_NS).groupby(["data", "op"])["bytes"].last()
    moved = rows[rows["op"] != "sync"].groupby(["data", "op"])["bytes"].sum()
    assert last.to_dict() == moved.to_dict()


@pytest.mark.parametrize(("timeout_s", "earliest_s", "latest_s"), [(29, 26.28, 31.2), (5, 2.92, 7.84), (2.92, 2.92, 7.84)])
def test_when_blocks_are_unloaded(timeout_s, earliest_s, latest_s):
    # By hand: a block ages 2.92 s at each check and goes at the first that finds it older than the time-out.
    assert accesses.unload_after_s(timeout_s) == pytest.approx((earliest_s, latest_s))


def test_means_over_lives():
    mean = stats.over_lives([1.0, 2.0, 3.0, float("nan")], 0.05)
    # The oracle: 2 -+ 4.3027 (the 97.5 % quantile of t with 2 degrees of freedom, from a printed table) / sqrt(3).
    assert (mean.value, mean.n) == (2, 3)
    assert (mean.low, mean.high) == pytest.approx((-0.4841, 4.4841), abs=1e-4)
    assert mean.p_above == pytest.approx(0.0371, abs=1e-4)
    assert np.isnan(stats.over_lives([1.0], 0.05).low)
