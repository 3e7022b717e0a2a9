"""States the facts and claims of the calibration study: realised values and bounds of each device, and values of other chains."""

from tickdisk import calibrate, stats
from tickdisk.foundation.numbers import number, percent
from tickdisk.studies.calibration.compute import Acceptance, DeviceJob, Judged, Results
from tickdisk.studies.quantiles import state_quantile
from tickdisk.studies.statement import THIS_PROJECT, Statement

CAPPED = "capped at the nominal latency"
_FILE = "calibration.json"
_FIDELITY = "fio's raw request logs, compared with the model's latencies in the device's log"


def state(results: Results) -> Statement:
    """Returns the facts and claims of the calibration study."""
    statement = Statement("calibration")
    for condition in results.conditions:
        statement.word(condition.name, condition.word, source=_FILE, note=condition.note)
    tiers = [device.name for device in results.measured.devices if device.jobs]
    statement.word("tiers", ", ".join(tiers), source=_FILE, note="the devices on which every job ran")
    for device in results.measured.devices:
        _state_device(statement, results, device)
    for job in results.jobs:
        _state_job(statement, results, job)
    _state_limits(statement, results)
    _state_acceptance(statement, results)
    _state_fidelity(statement, results)
    _state_other_chains(statement, results.fidelity)
    return statement


def _state_device(statement: Statement, results: Results, device: calibrate.DeviceResult) -> None:
    name, bandwidth = device.name, device.model.bandwidth_bytes_per_s
    note = "latency of a 4 KiB read on the idle device"
    statement.fact(f"{name}.nominal", device.latency_ns / 1000, "us", source="device model", note=note)
    if bandwidth is not None:
        statement.fact(f"{name}.nominal_bandwidth", bandwidth / 1e6, "MB/s", source="device model")
    note = "mean of the medians of 4 KiB reads and writes at queue depth 1, which is the dose of an arm with this device"
    statement.fact(f"{name}.realised", device.p50_ns / 1000, "us", source=_source(results), note=note)
    subtracted = "time that this machine adds to the model's latency; it is subtracted from every deadline"
    rest = f"the floor is {CAPPED}, which is the most that can be subtracted, so that the rest stays in the realised latency"
    statement.fact(
        f"{name}.floor",
        device.floor_ns / 1000,
        "us",
        source="median excess of fio's latencies at queue depth 1",
        note=f"{subtracted}; {rest}" if name in results.capped else subtracted,
    )
    reasons = "; ".join(results.reasons(device))
    statement.word(f"{name}.floor_limited", "yes" if device.floor_limited else "no", source=_FILE, note=reasons)


def _state_job(statement: Statement, results: Results, job: DeviceJob) -> None:
    result, name = job.result, job.device.name
    if result.pattern == "sequential":
        value = None if result.bandwidth_bytes_per_s is None else result.bandwidth_bytes_per_s / 1e6
        statement.fact(
            f"{name}.{result.op}_bandwidth",
            value,
            "MB/s",
            n=result.n_counted,
            source=_source(results),
            note=f"{job.words}, over the whole job",
        )
    elif result.queue_depth > 1:
        statement.fact(
            f"{name}.{result.op}_iops_depth_{result.queue_depth}",
            result.iops,
            "requests/s",
            n=result.n_counted,
            source=_source(results),
            note=f"{job.words}, over the whole job",
        )
    else:
        note = f"{job.words}, requests after the ramp"
        note += f", on {results.measured.file_system}" if result.op == "pwrite_fsync" else ""
        for quantile, found in job.quantiles_us.items():
            state_quantile(
                statement,
                f"{name}.{result.op}_{quantile}",
                found,
                "us",
                n=result.n,
                source=_source(results),
                note=note,
                confidence=results.confidence,
            )


def _source(results: Results) -> str:
    return f"{results.measured.fio.replace('fio-', 'fio ')}, raw request logs"


def _state_limits(statement: Statement, results: Results) -> None:
    devices = results.measured.devices
    limited = [device.name for device in devices if device.floor_limited]
    for name, found, words in (
        ("floor_limited_devices", limited, "devices with a nominal latency or bandwidth that this machine does not reach"),
        ("capped_floors", [device.name for device in devices if device.name in results.capped], f"floors {CAPPED}"),
    ):
        note = f"{words}: {', '.join(found)}" if found else ""
        statement.fact(name, len(found), "devices", n=len(devices), source=_FILE, note=note)


def _state_acceptance(statement: Statement, results: Results) -> None:
    for index, each in enumerate(results.acceptance, start=1):
        result, name = each.job.result, each.job.device.name
        question, evidence, effect = _phrase(each)
        loaded = ["the machine was under too much load"] if result.too_loaded else []
        statement.bound(
            f"acceptance_{index}",
            source=THIS_PROJECT,
            statement=question,
            verdict=each.verdict,
            evidence="; ".join([*([cause.sentence for cause in each.causes] or [evidence]), *loaded]),
            causes=each.causes,
            effect=f"{name}.{effect}",
            facts=[f"{name}.nominal"],
            n=result.n if result.compared == "p50_ns" else result.n_counted,
            counted="requests",
        )


def _phrase(each: Acceptance) -> tuple[str, str, str]:
    """Returns the bound in words, the measured value in words, and the end of the name of the fact with this value."""
    result, limit, value = each.job.result, each.line["limit"], each.line["value"]
    what = f"{each.job.device.name}, {each.job.words}"
    if result.compared == "p50_ns":
        return (
            f"{what}: p50 is at most {number(limit)} µs from nominal",
            f"p50 is {number(value)} µs from nominal",
            f"{result.op}_p50",
        )
    if result.compared == "iops":
        return (
            f"{what}: requests per second are at least {percent(limit)} of nominal",
            f"requests per second are {percent(value)} of nominal",
            f"{result.op}_iops_depth_{result.queue_depth}",
        )
    return (
        f"{what}: the bandwidth is at most {percent(limit)} from nominal",
        f"the bandwidth is {percent(value)} from nominal",
        f"{result.op}_bandwidth",
    )


def _state_fidelity(statement: Statement, results: Results) -> None:
    found = results.fidelity
    note = "largest rate of 4 KiB random requests on a device without delay, at any queue depth"
    statement.fact("ceiling", found.ceiling_iops, "requests/s", source=_FIDELITY, note=note)
    note = "smallest median latency of 4 KiB random reads on a device without delay"
    statement.fact("floor", found.least_latency_ns / 1000, "us", source=_FIDELITY, note=note)
    for name, judged in results.judged.items():
        note = f"points at which {name} is within {judged.limit} of the model's"
        statement.fact(f"faithful.{name}", judged.kept, "points", n=judged.judged, source=_FIDELITY, note=note)
        most_ms = None if judged.most_off_ns is None else judged.most_off_ns / 1e6
        note = f"largest distance of {name} from the model's at a point that was judged"
        statement.fact(f"faithful.{name}_most_off", most_ms, "ms", n=judged.judged, source=_FIDELITY, note=note)
        statement.bound(
            f"faithful_{name}",
            source=THIS_PROJECT,
            statement=f"{name} is within {judged.limit} of the model's, up to {percent(calibrate.SHARE_OF_CEILING)} of the "
            "requests per second that the machine can serve",
            verdict=judged.verdict,
            evidence=_of_points(judged),
            causes=judged.causes,
            effect=f"faithful.{name}",
            facts=["ceiling"],
            n=judged.judged,
            counted="points",
        )
    pipes, share = results.pipes, percent(calibrate.BANDWIDTH_SHARE)
    realised = ", ".join(
        f"{pipe.op} {number(pipe.bytes_per_s / 1e6)} of {number(pipe.nominal_bytes_per_s / 1e6)} MB/s" for pipe in pipes
    )
    note = f"bandwidths that are within {share} of the model's"
    statement.fact(
        "faithful.bandwidth", sum(pipe.holds for pipe in pipes), "bandwidths", n=len(pipes), source=_FIDELITY, note=note
    )
    statement.bound(
        "faithful_bandwidth",
        source=THIS_PROJECT,
        statement=f"Bandwidths of up to {number(max(calibrate.PIPES_BYTES_PER_S) / 1e9)} GB/s are within {share} of the model's",
        verdict=results.bandwidth_verdict,
        evidence=realised or "no bandwidth was measured without too much load",
        causes=[] if pipes else [stats.PointsNotJudged(judged=0, untold=0, loaded=len(found.own_pipes))],
        effect="faithful.bandwidth",
        n=len(pipes),
        counted="bandwidths",
    )


def _of_points(judged: Judged) -> str:
    """Returns a phrase with the number of points at which a bound was kept, and the reasons for which others were not judged."""
    if judged.judged == 0:
        found = "no point could be judged"
    elif judged.judged == 1:
        found = f"{'kept' if judged.kept else 'missed'} at the only point that could be judged"
    else:
        found = f"kept at {number(judged.kept) if judged.kept else 'none'} of {_points(judged.judged)}"
    others = (
        (judged.untold, "had too few requests beyond the percentile"),
        (judged.loaded, "had too much load"),
    )
    return "; ".join([found, *(f"{_points(count)} {words}" for count, words in others if count)])


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{number(count)} points"


def _state_other_chains(statement: Statement, found: calibrate.Fidelity) -> None:
    """States the values of other chains beside those of the emulated device at the same latency, depths and bandwidth."""
    reads = [point for point in found.points if point.op == "read" and point.latency_ns == calibrate.CROSS_NS]
    depths = {point.queue_depth for point in reads if point.chain != calibrate.OURS}
    latency = f"reads on a device of {number(calibrate.CROSS_NS / 1e6)} ms"
    for point in [point for point in reads if point.queue_depth in depths]:
        name = f"cross.depth_{point.queue_depth}.{_chain(point.chain)}"
        note = f"{latency}: p50 less the nominal latency"
        statement.fact(f"{name}.off", point.p50_off_ns / 1000, "us", n=point.n, source="fio", note=note)
        statement.fact(f"{name}.iops", point.iops, "requests/s", n=point.n, source="fio", note=latency)
    beside = {pipe.nominal_bytes_per_s for pipe in found.pipes if pipe.chain != calibrate.OURS}
    for pipe in [pipe for pipe in found.pipes if pipe.nominal_bytes_per_s in beside]:
        name = f"cross.{pipe.op}_bandwidth.{_chain(pipe.chain)}"
        note = f"1 MiB {pipe.op}s on a device of {number(pipe.nominal_bytes_per_s / 1e6)} MB/s"
        statement.fact(name, pipe.bytes_per_s / 1e6, "MB/s", n=pipe.n, source="fio", note=note)


def _chain(name: str) -> str:
    return "ours" if name == calibrate.OURS else name
