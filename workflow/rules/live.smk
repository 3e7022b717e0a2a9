# Live cells: a real server on an emulated device under real clients. Each has the machine to itself.


def previous_cell(wildcards):
    """Cells of an experiment run in the order of the plan."""
    cells = [cell for cell in CELLS if cell.experiment == PROJECT.cell(wildcards.cell).experiment]
    names = [cell.hash for cell in cells]
    position = names.index(wildcards.cell)
    return ancient(f"results/runs/{names[position - 1]}/manifest.json") if position else []


rule live_cell:
    input:
        plan=ancient("results/plan.json"),
        world=ancient(f"{PROJECT.world}/world.json"),
        calibration=ancient("results/calibration.json"),
        previous=previous_cell,
    output:
        "results/runs/{cell}/manifest.json",
    log:
        "results/logs/live_cell/{cell}.log",
    wildcard_constraints:
        cell="[0-9a-f]{16}",
    threads: workflow.cores
    shell:
        "tickdisk run {wildcards.cell} --plan {input.plan} 2>&1 | tee {log}"
