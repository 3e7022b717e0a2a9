# A sweep runs the switchback at the points of a table, each with cells, a plan and a notebook of its own. Its folder has all but the
# cells, which lie beside the others, so that a cell that two sweeps or the paper have in common runs once.

SWEPT = {
    name: [f"results/runs/{cell.hash}/manifest.json" for cell in point.cells]
    for name, point in POINTS.items()
}
# The points take turns, so that what changes over hours meets all of them.
TURNS = sorted(
    ((cell, name) for name, point in POINTS.items() for cell in point.cells),
    key=lambda turn: turn[0].block,
)
POINT_OF = {cell.hash: name for cell, name in TURNS}
# A cell that exists is not made again, by whichever sweep it was made. The rules of the paper make the cells of its plan.
SWEEP_CELLS = [
    cell
    for cell in POINT_OF
    if cell not in [each.hash for each in CELLS]
    and not Path(f"results/runs/{cell}/manifest.json").exists()
]


def previous_of_sweep(wildcards):
    before = SWEEP_CELLS[: SWEEP_CELLS.index(wildcards.cell)][-1:]
    return [f"results/runs/{cell}/manifest.json" for cell in before]


rule sweep_calibrate:
    input:
        plan=ancient(str(PLAN)),
    output:
        f"{SWEEP}/calibration.json",
    log:
        f"{SWEEP}/logs/calibrate.log",
    threads: CORES
    params:
        seconds=SCALE.calibration.seconds_per_job,
        file_system=PROJECT.config.file_system,
        limits=load_limits(),
        models=models_of(WHOLE.models()),
        machine=machine_and_cores(),
        computing=PROJECT.computing("calibration"),
    shell:
        "tickdisk calibrate --plan {input.plan} --output {output} 2>&1 | tee {log}"


rule sweep_live:
    input:
        plan=lambda wildcards: ancient(f"{SWEEP}/{POINT_OF[wildcards.cell]}/plan.json"),
        world=lambda wildcards: f"{PROJECT.world(POINTS[POINT_OF[wildcards.cell]].config.server)}/world.json",
        calibration=f"{SWEEP}/calibration.json",
        previous=previous_of_sweep,
    output:
        "results/runs/{cell}/manifest.json",
    log:
        f"{SWEEP}/logs/{{cell}}.log",
    wildcard_constraints:
        cell="|".join(SWEEP_CELLS) or "none",
    priority: 1
    threads: CORES
    shell:
        "tickdisk run {wildcards.cell} --plan {input.plan} --calibration {input.calibration} 2>&1 | tee {log}"


rule sweep_point:
    input:
        notebook="notebooks/switchback.ipynb",
        plan=ancient(f"{SWEEP}/{{point}}/plan.json"),
        evidence=lambda wildcards: SWEPT[wildcards.point],
    output:
        notebook=f"{SWEEP}/{{point}}.ipynb",
        html=f"{SWEEP}/{{point}}.html",
        made=f"{SWEEP}/{{point}}/made.txt",
    log:
        f"{SWEEP}/logs/{{point}}.log",
    wildcard_constraints:
        point="|".join(POINTS),
    params:
        rendering=PROJECT.rendering("switchback"),
        asked=lambda wildcards: POINTS[wildcards.point].asked_digest("switchback"),
        source=f"-p plan {SWEEP}/{{point}}/plan.json",
        folder=f"{SWEEP}/{{point}}",
    shell:
        RENDER


rule sweep_whole:
    input:
        notebook="notebooks/sweeps/sweep.ipynb",
        points=f"{SWEEP}/points.tsv",
        evidence=[path for paths in SWEPT.values() for path in paths],
    output:
        notebook=f"{SWEEP}/sweep.ipynb",
        html=f"{SWEEP}/sweep.html",
        made=f"{SWEEP}/made.txt",
    log:
        f"{SWEEP}/logs/sweep.log",
    params:
        rendering=PROJECT.rendering("sweep"),
        asked=[point.asked_digest("switchback") for point in POINTS.values()],
        source=f"-p sweep {SWEEP}",
        folder=str(SWEEP),
    shell:
        RENDER
