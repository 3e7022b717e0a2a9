# The simulated study of checkpoint recovery: no device and no server, but both cores.


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
    threads: workflow.cores
    params:
        design=PROJECT.config.chosen.checkpoint.model_dump_json(),
        seed=PROJECT.config.seed,
        simulator=simulator_digest(PROJECT.binaries["native"]),
    shell:
        "tickdisk checkpoint sweep --plan {input.plan} --output results/checkpoint"
        " 2>&1 | tee {log}"
