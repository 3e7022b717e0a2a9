# Network stacks are compared in network namespaces of their own, alone on the machine.


rule netcode:
    input:
        plan=ancient("results/plan.json"),
    output:
        lives="results/netcode/lives.parquet",
        steps="results/netcode/steps.parquet",
        pings="results/netcode/pings.parquet",
    log:
        "results/logs/netcode.log",
    priority: 1
    threads: CORES
    params:
        design=SCALE.netcode.model_dump_json(),
        seed=PROJECT.config.seed,
        machine=machine_and_cores(),
        computing=PROJECT.computing("netcode"),
    shell:
        "tickdisk netcode study --plan {input.plan} --output results/netcode 2>&1 | tee {log}"
