# These rules make the files that a reader opens: facts and claims of all notebooks, the paper and the page. `check` verifies them.


EVIDENCE_FILES = [
    f"results/{name}.json"
    for name in ("facts", "claims", "figures", "missing", "answers")
]
PAPER_SOURCES = sorted(
    part
    for part in Path("workflow/paper").rglob("*")
    if part.suffix in (".typ", ".bib")
)


rule collect:
    input:
        expand(
            "results/notebooks/{notebook}/{part}.json",
            notebook=EVIDENCE,
            part=["facts", "claims", "figures"],
        ),
        plan=ancient("results/plan.json"),
    output:
        EVIDENCE_FILES,
    log:
        "results/logs/collect.log",
    params:
        computing=PROJECT.computing("collect"),
        plan=PROJECT.plan_digest,
        folders=expand("results/notebooks/{notebook}", notebook=EVIDENCE),
        left_out=LEFT_OUT_OPTIONS,
    shell:
        "tickdisk collect {params.folders} {params.left_out} --output results > {log} 2>&1"


# The run is compared with the reference of its scale, if the project keeps one.
rule compare:
    input:
        evidence=EVIDENCE_FILES,
        reference=[
            *Path("data/reference").glob("*/*.json"),
            *Path("data/kept").glob("*/*"),
        ],
    output:
        "results/comparison.json",
    log:
        "results/logs/compare.log",
    params:
        computing=PROJECT.computing("compare"),
    shell:
        "tickdisk compare-reference --output {output} 2>&1 | tee {log}"


rule paper:
    input:
        evidence=EVIDENCE_FILES,
        comparison="results/comparison.json",
        template=PAPER_SOURCES,
        citation="CITATION.cff",
    output:
        "results/{document}.pdf",
    log:
        "results/logs/{document}.log",
    wildcard_constraints:
        document="paper|companion",
    params:
        template=[file_digest(part) for part in [*PAPER_SOURCES, Path("CITATION.cff")]],
        asked=PROJECT.asked_digest("paper"),
        computing=PROJECT.computing("paper"),
    shell:
        "tickdisk paper workflow/paper/{wildcards.document}.typ --output {output} > {log} 2>&1"


rule page:
    input:
        evidence=EVIDENCE_FILES,
        notebooks=expand("results/notebooks/{notebook}.html", notebook=EVIDENCE),
        comparison="results/comparison.json",
        documents=["results/paper.pdf", "results/companion.pdf"],
        template="workflow/paper/page.html.j2",
        style="workflow/paper/vendor/pico.classless.min.css",
    output:
        "results/index.html",
    log:
        "results/logs/page.log",
    params:
        template=[
            file_digest(Path("workflow/paper") / part)
            for part in ("page.html.j2", "vendor/pico.classless.min.css")
        ],
        plan=PROJECT.plan_digest,
        computing=PROJECT.computing("page"),
    shell:
        "tickdisk page {input.template} --output {output} > {log} 2>&1"


rule check:
    input:
        "results/index.html",
        "results/paper.pdf",
        "results/companion.pdf",
    output:
        "results/checked.json",
    log:
        "results/logs/check.log",
    params:
        computing=PROJECT.computing("check"),
    shell:
        "tickdisk check-results --output {output} 2>&1 | tee {log}"


# The results are described as a crate, of which copies of these files are a part.
RESULTS = [
    "results/paper.pdf",
    "results/companion.pdf",
    "results/index.html",
    "results/checked.json",
    "results/comparison.json",
    *EVIDENCE_FILES,
    *NOTEBOOK_PRODUCTS,
    *CALIBRATED[1:],
    *sum(EVIDENCE.values(), []),
]
CRATED = dict(
    source=[
        Path("Snakefile"),
        Path("CITATION.cff"),
        *sorted(Path("workflow/rules").glob("*.smk")),
    ],
    data=[
        *map(Path, ("workflow/config/config.yaml", "workflow/config/experiments.tsv")),
        *sorted(Path("data").glob("*.yaml")),
        *sorted({Path(path) for path in RESULTS if path.startswith("data/")}),
    ],
)


rule crate:
    input:
        RESULTS,
    output:
        "results/ro-crate-metadata.json",
    log:
        "results/logs/crate.log",
    params:
        computing=PROJECT.computing("crate"),
        plan=PROJECT.plan_digest,
        # The files that are copied count by their content. What the configuration says is in the plan.
        digests=[
            file_digest(path)
            for path in sum(CRATED.values(), [])
            if not path.is_relative_to("workflow/config")
        ],
        copied=[f"--{kind} {path}" for kind, paths in CRATED.items() for path in paths],
        # The folders of cells are known from the plan.
        files=[
            path
            for path in dict.fromkeys(RESULTS)
            if path.startswith("results/") and not path.startswith("results/runs/")
        ],
    shell:
        "tickdisk crate {params.files} {params.copied} --output {output} > {log} 2>&1"
