# What a reader opens: facts and claims of all notebooks, the paper, the page; and a check that they are whole.


rule collect:
    input:
        facts=expand("results/notebooks/{notebook}/facts.json", notebook=EVIDENCE),
        claims=expand("results/notebooks/{notebook}/claims.json", notebook=EVIDENCE),
        plan=ancient("results/plan.json"),
    output:
        facts="results/facts.json",
        claims="results/claims.json",
    log:
        "results/logs/collect.log",
    params:
        computing=PROJECT.computing("collect"),
        folders=expand("results/notebooks/{notebook}", notebook=EVIDENCE),
    shell:
        "tickdisk collect --facts {output.facts} --claims {output.claims}"
        " {params.folders} > {log} 2>&1"


rule paper:
    input:
        facts="results/facts.json",
        claims="results/claims.json",
        template="workflow/paper/paper.typ",
        layout="workflow/paper/layout.typ",
    output:
        "results/paper.pdf",
    log:
        "results/logs/paper.log",
    params:
        template=[
            file_digest(Path("workflow/paper") / part)
            for part in ("paper.typ", "layout.typ")
        ],
        asked=PROJECT.asked_digest("paper"),
        computing=PROJECT.computing("paper"),
    shell:
        "tickdisk paper {input.template} --output {output} > {log} 2>&1"


rule page:
    input:
        facts="results/facts.json",
        claims="results/claims.json",
        notebooks=expand("results/notebooks/{notebook}.html", notebook=EVIDENCE),
        paper="results/paper.pdf",
        template="workflow/paper/page.html.j2",
    output:
        "results/index.html",
    log:
        "results/logs/page.log",
    params:
        template=file_digest(Path("workflow/paper/page.html.j2")),
        plan=PROJECT.plan_digest,
        computing=PROJECT.computing("page"),
    shell:
        "tickdisk page {input.template} --output {output} > {log} 2>&1"


rule check:
    input:
        "results/index.html",
        "results/paper.pdf",
    output:
        "results/checked.json",
    log:
        "results/logs/check.log",
    params:
        computing=PROJECT.computing("check"),
    shell:
        "tickdisk check --output {output} 2>&1 | tee {log}"
