# Checkpoint recovery is simulated on all cores. The store for real runs alone on the machine, on devices of its own.


rule checkpoint_sweep:
    input:
        plan=ancient("results/plan.json"),
        published="data/published.yaml",
    output:
        runs="results/checkpoint/runs.parquet",
        ticks="results/checkpoint/ticks.parquet",
        checkpoints="results/checkpoint/checkpoints.parquet",
    log:
        "results/logs/checkpoint/sweep.log",
    priority: 1
    threads: workflow.cores
    params:
        design=SCALE.checkpoint.model_dump_json(),
        seed=PROJECT.config.seed,
        published=file_digest(Path("data/published.yaml")),
        computing=PROJECT.computing("sweep"),
    shell:
        "tickdisk checkpoint sweep --plan {input.plan} --output results/checkpoint"
        " 2>&1 | tee {log}"


rule store:
    input:
        plan=ancient("results/plan.json"),
    output:
        games="results/store/games.parquet",
        fitted="results/store/fitted.parquet",
        tested="results/store/tested.parquet",
        calibrated="results/store/calibrated.json",
    log:
        "results/logs/checkpoint/store.log",
    priority: 1
    threads: workflow.cores
    params:
        design=SCALE.store.model_dump_json(),
        seed=PROJECT.config.seed,
        models=models_of(store_devices()),
        machine=machine_and_cores(),
        computing=PROJECT.computing("store"),
    shell:
        "tickdisk checkpoint study --plan {input.plan} --output results/store"
        " 2>&1 | tee {log}"
