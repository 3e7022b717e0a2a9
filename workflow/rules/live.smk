# Live cells: a real server on an emulated device under real clients. Each has the machine to itself.
#
# Only live cells call a made input `ancient`: their hash says all that they depend on, so what is there never runs again. Snakemake
# does not look for other reasons to run what is downstream of a job that runs, `ancient` or not; so a rule that has `params` must
# run again with whatever it depends on.

# Experiments run in the order of the plan, and so do the cells of each (`previous`), whatever the scheduler prefers.
for rank, experiment in enumerate(
    ["capture_cost", "accesses", "inside_tick", "join_burst", "switchback"]
):

    rule:
        name:
            f"live_{experiment}"
        input:
            plan=ancient("results/plan.json"),
            world=ancient(f"{PROJECT.world}/world.json"),
            calibration=ancient("results/calibration.json"),
            previous=previous_cell,
        output:
            "results/runs/{cell}/manifest.json",
        log:
            "results/logs/live/{cell}.log",
        wildcard_constraints:
            cell="|".join(hashes_of(experiment)),
        priority: rank
        threads: workflow.cores
        shell:
            "tickdisk run {wildcards.cell} --plan {input.plan} 2>&1 | tee {log}"


rule micro:
    input:
        plan=ancient("results/plan.json"),
    output:
        "results/capture_micro.parquet",
    log:
        "results/logs/live/micro.log",
    priority: 0
    threads: workflow.cores
    params:
        rounds=PROJECT.config.chosen.capture_cost.micro_rounds,
        seed=PROJECT.config.seed,
        machine=host.machine(),
        computing=PROJECT.computing("micro"),
    shell:
        "tickdisk micro --plan {input.plan} --output {output} 2>&1 | tee {log}"


# The requests of the first captured life again, on other devices.
rule replay:
    input:
        plan=ancient("results/plan.json"),
        world=f"{PROJECT.world}/world.json",
        calibration="results/calibration.json",
        captured=manifests_of("accesses")[0],
    output:
        "results/replay/replay.json",
    log:
        "results/logs/live/replay.log",
    priority: 0
    threads: workflow.cores
    params:
        seconds=PROJECT.config.chosen.replay.seconds,
        computing=PROJECT.computing("replay"),
    shell:
        "tickdisk replay-study --plan {input.plan} --calibration {input.calibration}"
        " --output {output} 2>&1 | tee {log}"
