# Network stacks are compared in network namespaces of their own, alone on the machine. On a cluster several jobs share the runs.


COMPARED = dict(
    design=SCALE.netcode.model_dump_json(),
    seed=PROJECT.config.seed,
    machine=machine_and_cores(),
    computing=PROJECT.computing("netcode"),
)
NETCODE_TABLES = ("lives", "steps", "pings")

if NODES is None:

    rule netcode:
        input:
            plan=ancient("results/plan.json"),
        output:
            expand("results/netcode/{table}.parquet", table=NETCODE_TABLES),
        log:
            "results/logs/netcode.log",
        priority: 1
        threads: CORES
        params:
            **COMPARED,
        shell:
            "tickdisk netcode study --plan {input.plan} --output results/netcode 2>&1 | tee {log}"

else:

    rule netcode_part:
        input:
            plan=ancient("results/plan.json"),
        output:
            expand(
                "results/netcode/parts/{{part}}/{table}.parquet", table=NETCODE_TABLES
            ),
        log:
            "results/logs/netcode_{part}.log",
        wildcard_constraints:
            part=r"\d+",
        priority: 1
        threads: CORES
        params:
            **COMPARED,
            parts=parts_of("netcode")[-1],
        shell:
            "tickdisk netcode study --plan {input.plan} --output results/netcode/parts/{wildcards.part}"
            " --part {wildcards.part}/{params.parts} 2>&1 | tee {log}"

    rule netcode_gather:
        input:
            expand(
                "results/netcode/parts/{part}/{table}.parquet",
                part=parts_of("netcode"),
                table=NETCODE_TABLES,
            ),
        output:
            expand("results/netcode/{table}.parquet", table=NETCODE_TABLES),
        log:
            "results/logs/netcode_gather.log",
        params:
            folders=expand("results/netcode/parts/{part}", part=parts_of("netcode")),
            computing=PROJECT.computing("netcode"),
        shell:
            "tickdisk netcode gather {params.folders} --output results/netcode > {log} 2>&1"
