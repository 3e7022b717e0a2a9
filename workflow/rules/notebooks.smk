# Each study has one notebook, which papermill renders. Its facts, claims and figures are written beside it.


# A study that the configuration leaves out has no notebook here, and neither has an experiment without arms.
EVIDENCE = {
    name: [
        *manifests_of(name, SERVERS[:1]),
        *(path for experiment in study.compares for path in manifests_of(experiment)),
        *study.evidence,
    ]
    for name, study in STUDIES.items()
    if name not in LEFT_OUT
}


# These are all files of a notebook that people read. If one is deleted, it is made again.
NOTEBOOK_PRODUCTS = [
    *expand(
        "results/notebooks/{notebook}.{kind}", notebook=EVIDENCE, kind=["ipynb", "html"]
    ),
    *expand(
        "results/notebooks/{notebook}/{part}",
        notebook=EVIDENCE,
        part=["facts.json", "claims.json", "figures.json", "figures"],
    ),
]


rule notebook:
    input:
        notebook="notebooks/{notebook}.ipynb",
        plan=ancient("results/plan.json"),
        calibration=CALIBRATED[:1],
        evidence=lambda wildcards: EVIDENCE[wildcards.notebook],
    output:
        notebook="results/notebooks/{notebook}.ipynb",
        html="results/notebooks/{notebook}.html",
        facts="results/notebooks/{notebook}/facts.json",
        claims="results/notebooks/{notebook}/claims.json",
        figures="results/notebooks/{notebook}/figures.json",
        drawn=directory("results/notebooks/{notebook}/figures"),
        made="results/notebooks/{notebook}/made.txt",
    log:
        "results/logs/notebook/{notebook}.log",
    wildcard_constraints:
        notebook="|".join(EVIDENCE),
    params:
        # A notebook is rendered again when one of these values changes. They depend on wildcards alone, because Snakemake ignores
        # parameters that are computed from inputs.
        rendering=lambda wildcards: PROJECT.rendering(wildcards.notebook),
        asked=lambda wildcards: PROJECT.asked_digest(wildcards.notebook),
        source=lambda wildcards: [
            f"-p {name} {value}"
            for name, value in STUDIES[wildcards.notebook].parameters.items()
        ],
        folder="results/notebooks/{notebook}",
    shell:
        RENDER
