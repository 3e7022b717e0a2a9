# A live cell is a real server on an emulated device under real clients. Each runs alone on the machine.
#
# Only live cells may mark a generated input as `ancient`. Their hash covers all that they depend on, so an existing cell never runs
# again. Snakemake looks for no further reason to run a job that lies downstream of one that runs, even past `ancient`, so every other
# rule has to run again with its inputs.

# The experiments on the server of the studies run first, in the order of the plan, and so do the cells of each experiment. The input
# `previous` makes sure of that.
# What needs the whole machine has a priority, so that notebooks, of which each needs one core, fill all cores after it.
for rank, (server, experiment) in enumerate(
    [
        (server, experiment)
        for server in reversed(SERVERS)
        for experiment in reversed(EXPERIMENTS)
        if hashes_of(experiment, [server])
    ],
    start=2,
):

    rule:
        name:
            f"live_{experiment}_{server}"
        input:
            plan=ancient("results/plan.json"),
            world=ancient(f"{PROJECT.world(server)}/world.json"),
            calibration=calibration_of_cell,
            profile=profile_of_cell,
            previous=previous_cell,
        output:
            "results/runs/{cell}/manifest.json",
        log:
            "results/logs/live/{cell}.log",
        wildcard_constraints:
            cell="|".join(hashes_of(experiment, [server])),
        priority: rank
        threads: CORES
        shell:
            "tickdisk run {wildcards.cell} --plan {input.plan} 2>&1 | tee {log}"


rule micro:
    input:
        plan=ancient("results/plan.json"),
    output:
        "results/capture_micro.parquet",
    log:
        "results/logs/live/micro.log",
    priority: 1
    threads: CORES
    params:
        rounds=SCALE.capture_cost.micro_rounds,
        seed=PROJECT.config.seed,
        machine=machine_and_cores(),
        computing=PROJECT.computing("micro"),
    shell:
        "tickdisk micro --plan {input.plan} --output {output} 2>&1 | tee {log}"


# The requests of the first captured life are made again on other devices.
rule replay:
    input:
        plan=ancient("results/plan.json"),
        world=f"{PROJECT.world(SERVERS[0])}/world.json",
        calibration="results/calibration.json",
        captured=manifests_of("accesses", SERVERS[:1])[:1],
    output:
        "results/replay/replay.json",
    log:
        "results/logs/live/replay.log",
    priority: 1
    threads: CORES
    params:
        seconds=SCALE.replay.seconds,
        computing=PROJECT.computing("replay"),
    shell:
        "tickdisk replay-study --plan {input.plan} --calibration {input.calibration}"
        " --output {output} 2>&1 | tee {log}"
