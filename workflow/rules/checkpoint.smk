# Checkpoint recovery is simulated on all cores, or on a cluster in one job for each node. The store for real runs alone on the machine, on
# devices of its own.


# The simulations depend on these values, beside the published numbers.
SIMULATED = dict(
    design=SCALE.checkpoint.model_dump_json(),
    seed=PROJECT.config.seed,
    published=file_digest(Path("data/published.yaml")),
    computing=PROJECT.computing("sweep"),
)
SWEEP_TABLES = ("runs", "ticks", "checkpoints")

if NODES is None:

    rule checkpoint_sweep:
        input:
            plan=ancient("results/plan.json"),
            published="data/published.yaml",
        output:
            expand("results/checkpoint/{table}.parquet", table=SWEEP_TABLES),
        log:
            "results/logs/checkpoint/sweep.log",
        priority: 1
        threads: CORES
        params:
            **SIMULATED,
        shell:
            "tickdisk checkpoint sweep --plan {input.plan} --output results/checkpoint"
            " 2>&1 | tee {log}"

else:

    rule checkpoint_part:
        input:
            plan=ancient("results/plan.json"),
            published="data/published.yaml",
        output:
            expand(
                "results/checkpoint/parts/{{part}}/{table}.parquet", table=SWEEP_TABLES
            ),
        log:
            "results/logs/checkpoint/sweep_{part}.log",
        wildcard_constraints:
            part=r"\d+",
        priority: 1
        threads: CORES
        params:
            **SIMULATED,
            parts=parts_of("checkpoint")[-1],
        shell:
            "tickdisk checkpoint sweep --plan {input.plan} --output results/checkpoint/parts/{wildcards.part}"
            " --part {wildcards.part}/{params.parts} 2>&1 | tee {log}"

    rule checkpoint_gather:
        input:
            expand(
                "results/checkpoint/parts/{part}/{table}.parquet",
                part=parts_of("checkpoint"),
                table=SWEEP_TABLES,
            ),
        output:
            expand("results/checkpoint/{table}.parquet", table=SWEEP_TABLES),
        log:
            "results/logs/checkpoint/gather.log",
        params:
            folders=expand(
                "results/checkpoint/parts/{part}", part=parts_of("checkpoint")
            ),
            computing=PROJECT.computing("sweep"),
        shell:
            "tickdisk checkpoint gather {params.folders} --output results/checkpoint > {log} 2>&1"


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
    threads: CORES
    params:
        design=SCALE.store.model_dump_json(),
        seed=PROJECT.config.seed,
        models=models_of(store_devices()),
        machine=machine_and_cores(),
        computing=PROJECT.computing("store"),
    shell:
        "tickdisk checkpoint study --plan {input.plan} --output results/store"
        " 2>&1 | tee {log}"
