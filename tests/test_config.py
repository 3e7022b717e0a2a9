"""Configuration: unknown keys are errors with file and key; the schema does not drift; the plan is a function of the seed."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tickdisk import device
from tickdisk.config import (
    CONFIG_PATH,
    SCHEMA_PATH,
    Cell,
    arms_of_run,
    check_arms,
    load_arms,
    load_config,
    parse_config,
    plan,
    schema,
)
from tickdisk.experiment import EXPERIMENTS, INSIDE_TICK, SWITCHBACK, Arm
from tickdisk.experiment.balance import balanced_order, williams_square
from tickdisk.foundation.errors import TickdiskError
from tickdisk.project import project
from tickdisk.server import SERVERS
from tickdisk.stats import life_contrasts

CODE = {(experiment, "luanti"): {"python": "a", "server": "b"} for experiment in EXPERIMENTS}


def models_of(arms: Sequence[Arm]) -> dict[tuple[str, str], device.DeviceModel]:
    """Returns a model for every arm, which says what the arm's device is."""

    def model(arm: Arm) -> device.DeviceModel:
        return device.NO_DELAY.model_copy(update={"name": arm.device, "burn_ns": round(1000 * (arm.latency_us or 0))})

    return {(arm.experiment, arm.arm): model(arm) for arm in arms}


def planned(values: dict[str, Any], arms: Sequence[Arm] | None = None, **changed: Any) -> list[Cell]:
    arms = load_arms() if arms is None else arms
    return plan(parse_config(values), arms, **{"models": models_of(arms), "code": CODE, **changed})


@pytest.fixture
def values() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(CONFIG_PATH.read_text())
    return read


def test_the_schema_is_the_one_of_the_types() -> None:
    assert SCHEMA_PATH.read_text() == schema(), "run `tickdisk schema` to write it again"


def test_an_unknown_key_is_named(values: dict[str, Any]) -> None:
    values["scales"]["smoke"]["switchback"]["playerz"] = 3
    with pytest.raises(TickdiskError, match=r"workflow/config/config.yaml: unknown key scales.smoke.switchback.playerz"):
        parse_config(values)


def test_a_server_states_only_what_differs(values: dict[str, Any]) -> None:
    smoke = values["scales"]["smoke"]
    smoke["servers"] = {"other": {"switchback": {"lives": 3}, "world": {"seed": 7}, "join_burst": {}}}
    config = parse_config(values)
    scale = config.scales["smoke"]
    assert scale.design(SWITCHBACK, "other") == scale.design(SWITCHBACK).model_copy(update={"lives": 3})
    assert scale.world_of("other") == scale.world.model_copy(update={"seed": 7})
    assert all(scale.design(EXPERIMENTS[name], "other") == getattr(scale, name) for name in ("join_burst", "inside_tick"))
    assert parse_config(config.model_dump(mode="json")) == config
    for key, own, said in (
        ("switchback", {"lives": 0}, "servers.other.switchback.lives = 0"),
        ("switchback", {"livez": 1}, "unknown key scales.smoke.servers.other.switchback.livez"),
        ("switchback", 3, "servers.other.switchback = 3"),
        ("description", {}, "unknown key scales.smoke.servers.other.description"),
    ):
        smoke["servers"] = {"other": {key: own}}
        with pytest.raises(TickdiskError, match=said):
            parse_config(values)


@pytest.mark.parametrize(("key", "value"), [("scale", "huge"), ("seed", "x"), ("port", 80), ("blocks", 0)])
def test_a_bad_value_is_named(values: dict[str, Any], key: str, value: object) -> None:
    values[key] = value
    with pytest.raises(TickdiskError, match=rf"config.yaml: {key} = "):
        parse_config(values)


def test_a_missing_key_is_named(values: dict[str, Any]) -> None:
    del values["limits"]["steal_share"]
    with pytest.raises(TickdiskError, match=r"key limits.steal_share is missing"):
        parse_config(values)


def test_yaml_that_does_not_parse_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("seed: 1\nport: [1\nx: 2\n")
    with pytest.raises(TickdiskError, match=r"c.yaml, line 3"):
        load_config(tmp_path / "c.yaml")


HEADER = (
    "experiment\tarm\tservers\trole\tdevice\tlatency_us\ttick_delay_ms\taction_delay_ms\tpositive_for\tcapture\tdescription\n"
)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("switchback\ta\tluanti\tbaseline\tsata_ssd\t-5\t\t\t\t\tx\n", r"e.tsv, line 2: latency_us = '-5'"),
        ("switchback\ta\tluanti\tking\tsata_ssd\t\t\t\t\t\tx\n", r"e.tsv, line 2: role = 'king'"),
        ("switchback\ta\tluanti\tbaseline\tsata_ssd\t\t\t\t\tdtrace\tx\n", r"e.tsv, line 2: capture = 'dtrace'"),
        ("switchback\ta\tluanti\tdelay\tsata_ssd\t\t0\t\tticks\t\tx\n", r"e.tsv, line 2: tick_delay_ms = '0'"),
        ("switchback\ta\tluanti\tdelay\tsata_ssd\t\t\t-9\tactions\t\tx\n", r"e.tsv, line 2: action_delay_ms = '-9'"),
        ("switchback\ta\tluanti\tdose\tsata_ssd\t\t\t\tjoins\t\tx\n", r"e.tsv, line 2: positive_for.0 = 'joins'"),
        ("switchback\ta\t \tbaseline\tsata_ssd\t\t\t\t\t\tx\n", r"e.tsv, line 2: servers = ' '"),
        ("switchback\ta\tluanti\tnull\tsata_ssd\t\t\t\t\t\tx\n" * 2, r"names the arm a twice"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "e.tsv").write_text(HEADER + row)
    with pytest.raises(TickdiskError, match=message):
        load_arms(tmp_path / "e.tsv")


def test_a_table_in_another_encoding_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "e.tsv").write_text(HEADER, encoding="utf-16")
    with pytest.raises(TickdiskError, match=r"e.tsv is no table in UTF-8; save it as text"):
        load_arms(tmp_path / "e.tsv")


def arms_with(*rows: tuple[str, str, str]) -> list[Arm]:
    """Returns arms of the capture's cost from their names, servers and roles."""
    return [
        Arm(experiment="capture_cost", arm=arm, servers=servers, role=role, device="hdd", description="x")  # type: ignore[arg-type]
        for arm, servers, role in rows
    ]


def test_controls_are_demanded_by_server(values: dict[str, Any]) -> None:
    config = parse_config(values | {"scale": "smoke"})
    everywhere = [("a", "luanti other", "baseline"), ("b", "luanti other", "null")]
    with pytest.raises(TickdiskError, match="capture_cost on luanti needs exactly one arm that is positive_for ticks"):
        check_arms(config, arms_with(*everywhere))
    with pytest.raises(TickdiskError, match="capture_cost on other needs exactly one arm with role null"):
        check_arms(config, arms_with(("a", "other", "baseline"), ("b", "other", "dose")))
    shams = [arm for arm in load_arms() if arm.role == "sham"]
    others = [
        arm.model_copy(update={"servers": ("other",)}) for arm in load_arms() if arm.role != "sham" and "luanti" in arm.servers
    ]
    check_arms(config, others)
    with pytest.raises(TickdiskError, match="on luanti needs exactly one arm with role sham"):
        check_arms(config, [arm for arm in load_arms() if arm not in shams])


def test_an_arm_s_device_can_be_a_file(tmp_path: Path, values: dict[str, Any]) -> None:
    path, devices = tmp_path / "mydisk.yaml", device.load_devices(project.DEVICES_PATH)
    path.write_text("mydisk: {read_latency_ns: 1000, write_latency_ns: 1, flush_latency_ns: 1, channels: 3}\n")
    arms = [arm.model_copy(update={"device": str(path)}) if arm.arm == "hdd" else arm for arm in arms_of_run(load_arms(), None)]
    for arm in arms:
        project.add_file(arm, devices)
    assert devices[str(path)] == device.load_device(path)
    models = {(arm.experiment, arm.arm): devices[arm.device] for arm in arms}
    cells = planned(values, arms, models=models)
    used = next(cell.resolved.arms for cell in cells if cell.experiment == "join_burst")
    assert [arm.device.channels for arm in used if arm.arm == "hdd"] == [3]
    path.write_text(path.read_text().replace("mydisk:", "nvme_ssd:"))
    del devices[str(path)]
    with pytest.raises(TickdiskError, match="there is another device called nvme_ssd; rename"):
        project.add_file(next(arm for arm in arms if arm.arm == "hdd"), devices)


def test_the_same_seed_gives_the_same_plan_and_another_seed_another(values: dict[str, Any]) -> None:
    first, again = planned(values), planned(values)
    assert [cell.hash for cell in first] == [cell.hash for cell in again]
    assert first == again
    values["seed"] += 1
    other = planned(values)
    assert [life.epochs for cell in other for life in cell.lives] != [life.epochs for cell in first for life in cell.lives]


def test_more_blocks_add_cells_and_keep_the_old(values: dict[str, Any]) -> None:
    before = {cell.hash for cell in planned(values) if cell.experiment == "switchback"}
    values["blocks"] = len(before) + 2
    after = {cell.hash for cell in planned(values) if cell.experiment == "switchback"}
    assert before < after
    assert len(after) == len(before) + 2


def test_every_arm_has_one_epoch_in_a_life_and_two_save_periods_are_analysed(values: dict[str, Any]) -> None:
    config, arms = parse_config(values), load_arms()
    own = sorted(arm.arm for arm in arms if arm.experiment == "switchback" and "luanti" in arm.servers)
    for cell in planned(values, arms):
        if cell.experiment != "switchback":
            continue
        epochs = cell.lives[0].epochs
        assert sorted(epoch.arm for epoch in epochs) == own
        for epoch, after in pairwise(epochs):
            assert epoch.end_s == pytest.approx(after.start_s)
            assert epoch.end_s - epoch.steady_s >= 2 * config.chosen.design(SWITCHBACK).save_period_s - 1e-9


@pytest.mark.parametrize("arms", range(2, 10))
def test_in_a_williams_square_every_arm_stands_everywhere_and_follows_every_other_equally_often(arms: int) -> None:
    rows = williams_square(arms)
    assert all(sorted(row) == list(range(arms)) for row in rows)
    places = Counter((place, number) for row in rows for place, number in enumerate(row))
    followed = Counter(pair for row in rows for pair in pairwise(row))
    assert (len(places), len(followed)) == (arms**2, arms * (arms - 1))
    assert len(set(places.values())) == len(set(followed.values())) == 1


def test_the_order_of_arms_is_balanced_over_the_planned_lives(values: dict[str, Any]) -> None:
    arms = load_arms()
    for experiment in ("switchback", "join_burst", "capture_cost"):
        cells = [cell for cell in planned(values, arms) if cell.experiment == experiment]
        orders = [[epoch.arm for life in cell.lives for epoch in life.epochs] for cell in cells]
        assert len(orders) == len(orders[0]), "as many lives, or blocks, as arms: a whole Latin square"
        followed = Counter(pair for order in orders for pair in pairwise(order))
        # An odd number of arms fills half of a Williams square, in which an arm follows half of the others, each twice.
        assert set(followed.values()) == {1 if len(orders) % 2 == 0 else 2}
        assert set(Counter((place, arm) for order in orders for place, arm in enumerate(order)).values()) == {1}


@pytest.mark.parametrize("arms", [5, 7, 9])
def test_half_a_square_of_an_odd_number_of_arms_balances_places_and_a_whole_one_what_follows(arms: int) -> None:
    names = list("abcdefghi"[:arms])
    orders = [balanced_order(names, block, np.random.default_rng) for block in range(4 * arms)]
    for begin in range(0, 4 * arms, arms):
        assert len({(place, arm) for order in orders[begin : begin + arms] for place, arm in enumerate(order)}) == arms**2
    for begin in (0, 2 * arms):
        followed = Counter(pair for order in orders[begin : begin + 2 * arms] for pair in pairwise(order))
        assert (len(followed), set(followed.values())) == (arms * (arms - 1), {2})


def test_lives_that_do_not_balance_the_arms_are_refused_with_the_numbers_that_do(values: dict[str, Any]) -> None:
    values["scales"]["paper"]["servers"]["dragonfly"]["switchback"]["lives"] = 8
    said = r"switchback.lives on dragonfly = 8 is no multiple of its 7 arms, .* set it to 7 or 14$"
    with pytest.raises(TickdiskError, match=said):
        check_arms(parse_config(values), load_arms())
    # Lives that were asked for beside the plan change no verdict, and the smallest scale decides on no treatment.
    for changed in ({"blocks": 11}, {"scale": "smoke"}, {"scale": "full"}):
        check_arms(parse_config(load_config().model_dump(mode="json") | changed), load_arms())


def test_saves_that_grow_over_a_life_bias_no_contrast_of_whole_squares() -> None:
    """A save writes all that was ever changed, so that its requests, and what a latency costs it, grow with the place."""
    latency_ms = {"baseline": 0.1, "again": 0.1, "one": 1.0, "six": 6.0, "twelve": 12.0, "delay": 0.1}
    arms, margin = list(latency_ms), np.log(1.2)

    def gap_ms(arm: str, place: int) -> float:
        return 50.0 + (10 + 15 * place) * latency_ms[arm] / 10 + (50.0 if arm == "delay" else 0.0)

    places = range(len(arms))
    truth = {arm: np.mean([np.log(gap_ms(arm, place) / gap_ms("baseline", place)) for place in places]) for arm in arms}

    def bias(lives: int, seed: int) -> float:
        orders = [balanced_order(arms, block, lambda square: np.random.default_rng([seed, square])) for block in range(lives)]
        logs = np.array([[np.log(gap_ms(arm, order.index(arm))) for arm in arms] for order in orders])
        found = life_contrasts(logs, baseline=0, null=1).mean(axis=0)
        return float(max(abs(found[number] - truth[arm]) for number, arm in enumerate(arms) if arm != "baseline"))

    for lives in (6, 12, 18):
        assert max(bias(lives, seed) for seed in range(50)) < margin / 10
    assert max(bias(8, seed) for seed in range(50)) > margin / 10, "eight lives are no whole square"


def test_a_second_square_has_an_order_of_its_own() -> None:
    arms = list("abcdefgh")

    def order(block: int, seed: int = 1) -> list[str]:
        return balanced_order(arms, block, lambda square: np.random.default_rng([seed, square]))

    assert order(3) == order(3)
    assert sorted(order(b) for b in range(8)) != sorted(order(b) for b in range(8, 16))
    assert [order(b) for b in range(8)] != [order(b, seed=2) for b in range(8)]


def test_ticks_are_delayed_in_the_arm_that_says_so_and_nowhere_else(values: dict[str, Any]) -> None:
    arms = load_arms()
    for cell in planned(values, arms):
        delays = {arm.arm: arm.tick_delay_ms for arm in arms if arm.experiment == cell.experiment and cell.server in arm.servers}
        if not any(delays.values()):
            continue
        for life in cell.lives:
            injected = {injection.due_s: injection.length_ms for injection in life.injections}
            for epoch in life.epochs:
                inside = [length for due_s, length in injected.items() if epoch.start_s <= due_s < epoch.end_s]
                assert set(inside) == ({delays[epoch.arm]} if delays[epoch.arm] else set())


def test_answers_are_held_back_for_whole_steps_of_each_server() -> None:
    held = [(server, arm.action_delay_ms) for arm in load_arms() if arm.action_delay_ms is not None for server in arm.servers]
    assert {server for server, _ in held} == {
        name for name, kind in SERVERS.items() if kind.variant_of is None and not kind.supplied
    }
    for server, milliseconds in held:
        assert milliseconds * 1_000_000 % SERVERS[server].ticking.budget_ns == 0


def test_a_confirmatory_claim_about_an_arm_that_is_not_there_is_named(values: dict[str, Any]) -> None:
    values["decision"]["confirmatory"]["arm"] = "latency_7ms"
    with pytest.raises(TickdiskError, match=r"decision.confirmatory.arm = latency_7ms: experiment switchback has no such arm"):
        check_arms(parse_config(values), load_arms())
    check_arms(load_config(), load_arms())


def test_every_injected_stall_has_its_slot_and_both_kinds_are_as_many(values: dict[str, Any]) -> None:
    config = parse_config(values)
    design = config.chosen.design(INSIDE_TICK)
    for cell in (cell for cell in planned(values) if cell.experiment == "inside_tick"):
        life = cell.lives[0]
        kinds = [injection.kind for injection in life.injections]
        assert kinds.count("device_stall") == kinds.count("cpu_stall") == design.stalls
        for slot, injection in enumerate(life.injections):
            into_s = injection.due_s - design.warm_up_s - slot * design.stall_period_s
            assert 0 <= into_s <= design.stall_period_s / 2
            assert design.stall_period_s - into_s > 2 * design.stall_ms / 1000
        assert life.injections[-1].due_s < life.epochs[-1].end_s


def hashes(cells: Sequence[Cell], experiment: str = "switchback") -> list[str]:
    return [cell.hash for cell in cells if cell.experiment == experiment]


@pytest.mark.parametrize(
    "key", ["scales.smoke.replacements", "scales.smoke.world.seed", "limits.client_lag_ms", "device_size_mib", "seed"]
)
def test_a_setting_that_decides_the_outcome_changes_the_hash(key: str, values: dict[str, Any]) -> None:
    values["scale"] = "smoke"
    before = hashes(planned(values))
    *path, last = key.split(".")
    place = values
    for name in path:
        place = place[name]
    place[last] = 1 if key.endswith("replacements") else place[last] * 2
    assert not set(before) & set(hashes(planned(values)))


@pytest.mark.parametrize(
    "key", ["decision.margin", "port", "scales.smoke.calibration.seconds_per_job", "scales.smoke.join_burst.stay_s"]
)
def test_a_setting_of_something_else_does_not(key: str, values: dict[str, Any]) -> None:
    values["scale"] = "smoke"
    before = hashes(planned(values))
    *path, last = key.split(".")
    place = values
    for name in path:
        place = place[name]
    place[last] = place[last] * 1.5 if key != "port" else place[last] + 1
    assert before == hashes(planned(values))


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ({"description": "other words"}, False),
        ({"role": "treatment"}, False),
        ({"role": "sham"}, True),
        ({"tick_delay_ms": 7}, True),
        ({"action_delay_ms": 7}, True),
        ({"capture": "strace"}, True),
        ({"arm": "other_name"}, True),
    ],
)
def test_what_of_an_arm_counts(changed: dict[str, Any], counts: bool, values: dict[str, Any]) -> None:
    arms = load_arms()
    number = next(number for number, arm in enumerate(arms) if arm.experiment == "switchback" and arm.role == "dose")
    others = [*arms[:number], arms[number].model_copy(update=changed), *arms[number + 1 :]]
    before, after = planned(values, arms), planned(values, others)
    assert (hashes(before) != hashes(after)) == counts
    assert hashes(before, "join_burst") == hashes(after, "join_burst")


def test_a_cell_goes_by_the_devices_and_the_code_of_its_own_experiment(values: dict[str, Any]) -> None:
    arms = load_arms()
    before = planned(values, arms)
    arm = next(arm for arm in arms if arm.experiment == "switchback")
    models = {**models_of(arms), (arm.experiment, arm.arm): device.NO_DELAY}
    for after in (
        planned(values, arms, models=models),
        planned(values, arms, code={**CODE, ("switchback", "luanti"): {"python": "z"}}),
    ):
        assert not set(hashes(before)) & set(hashes(after))
        assert hashes(before, "join_burst") == hashes(after, "join_burst")


def test_cells_of_other_code_differ_under_one_key(values: dict[str, Any]) -> None:
    before, after = planned(values)[0], planned(values, code={name: {"python": "z"} for name in CODE})[0]
    assert [key for key, value in before.resolved if getattr(after.resolved, key) != value] == ["code"]
