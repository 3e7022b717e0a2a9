# Live cells: a real server on an emulated device under real clients. Each has the machine to itself.

# Experiments run in the order of the plan, and so do the cells of each (`previous`), whatever the scheduler prefers.
for rank, experiment in enumerate(["join_burst", "switchback"]):

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
