# Every experiment needs the world of its server, and the calibration of every device on this machine.


for server in SERVERS:

    rule:
        name:
            f"world_{server}"
        input:
            plan=ancient("results/plan.json"),
        output:
            f"{PROJECT.world(server)}/world.json",
        log:
            f"results/logs/world_{server}.log",
        priority: 1
        threads: CORES
        params:
            server=server,
        shell:
            # The plan of a sweep has the same worlds, and may be of another scale than the plan of the paper.
            f"tickdisk world --plan {PLAN}" " --server {params.server} > {log} 2>&1"


rule calibrate:
    input:
        plan=ancient("results/plan.json"),
    output:
        json="results/calibration.json",
        requests="results/calibration/requests.parquet",
    log:
        "results/logs/calibrate.log",
    priority: 1
    threads: CORES
    params:
        seconds=SCALE.calibration.seconds_per_job,
        file_system=PROJECT.config.file_system,
        limits=load_limits(),
        models=models_of(PROJECT.models()),
        tiers=PROJECT.calibrated_tiers,
        machine=machine_and_cores(),
        computing=PROJECT.computing("calibration"),
    shell:
        "tickdisk calibrate --plan {input.plan} 2>&1 | tee {log}"


# A real disk is profiled before its emulated twin can be brought up. Only the study of a real disk has one.
if PROJECT.config.disk is not None:

    rule profile_disk:
        input:
            plan=ancient("results/plan.json"),
        output:
            device=str(PROJECT.disk.profile),
            latencies=str(PROJECT.disk.latencies),
        log:
            "results/logs/profile_disk.log",
        priority: 1
        threads: CORES
        params:
            disk=PROJECT.config.disk,
            seconds=SCALE.twin.profile_s,
            settle=SCALE.twin.settle_s,
            size=SCALE.twin.device_size_mib,
            machine=machine_and_cores(),
            computing=PROJECT.computing("disk"),
        shell:
            "tickdisk profile-disk --plan {input.plan} 2>&1 | tee {log}"


rule fidelity:
    input:
        plan=ancient("results/plan.json"),
        calibration="results/calibration.json",
    output:
        "results/fidelity.json",
    log:
        "results/logs/fidelity.log",
    priority: 1
    threads: CORES
    params:
        calibration=SCALE.calibration.model_dump(),
        limits=load_limits(),
        machine=machine_and_cores(),
        computing=PROJECT.computing("fidelity"),
    shell:
        "tickdisk fidelity --plan {input.plan} --output {output} > {log} 2>&1"
