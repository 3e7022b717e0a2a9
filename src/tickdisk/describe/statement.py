"""The files that say what a run states: facts, claims, figures, answers, and the comparison with the reference."""

from typing import get_args

from tickdisk.compare import ComparedClaim, KeptStudy, Reference, WithoutReference, WithReference
from tickdisk.describe.entry import DescribedTable, Entry, Section, blocks_of, written
from tickdisk.describe.keys import Key, keys_of_class
from tickdisk.project import KeptPlan
from tickdisk.report import Checked
from tickdisk.report.answers import Answers
from tickdisk.stats import Cause, HeldFinding
from tickdisk.studies import Claim, Fact

_CAUSES = DescribedTable(
    "Each object of `causes` has a key `kind`, which is one of these words, and the keys that the column of types names:",
    tuple(
        Key(
            kind.model_fields["kind"].default,
            ", ".join(f"`{name}`" for name in kind.model_fields if name != "kind"),
            kind.__doc__ or "",
        )
        for kind in get_args(get_args(Cause)[0])
    ),
    {},
)

_FIGURES = written(
    "The file is an object with an object for each study, under its name. In the folder of a notebook it is the "
    "inner object alone:",
    {
        "FIGURE": (
            "text or null",
            (
                "The reason for which the figure was not drawn, under the name of the figure. It is null for a figure that "
                "was drawn."
            ),
        )
    },
)

_MISSING = written(
    "The file is an object, which is empty if the run is whole:",
    {"STUDY": ("text", "The reason for which the study is missing, under the name of the study.")},
)

_KEPT_PLAN = DescribedTable(
    "The file is an object with some keys of `results/plan.json`:",
    keys_of_class(KeptPlan),
    dict.fromkeys(KeptPlan.model_fields, "As there."),
)

SECTION = Section(
    "The statements of a run",
    "Each notebook writes `facts.json`, `claims.json` and `figures.json` into `results/notebooks/STUDY`. The "
    "files in `results` merge those of all studies, and the facts about the set-up of the run.",
    (
        Entry(
            "results/facts.json",
            "This file holds every number and word that the paper and the page show.",
            tuple(
                blocks_of(
                    Fact,
                    "The file is an object. Its keys are the names of facts, such as `switchback.gap_max_good_up_to`: the study, "
                    "a dot, and a name in the study. Each fact is an object with these keys:",
                )
            ),
        ),
        Entry(
            "results/claims.json",
            "This file holds every claim with its verdict.",
            (
                DescribedTable("The file is a list. Each claim is an object with these keys:", keys_of_class(Claim), {}),
                DescribedTable("The object `finding` has these keys:", keys_of_class(HeldFinding), {}),
                _CAUSES,
            ),
        ),
        Entry("results/figures.json", "This file names the figures of each study.", (_FIGURES,)),
        Entry("results/missing.json", "This file names the studies that this run does not have.", (_MISSING,)),
        Entry("results/answers.json", "This file holds the answers to the questions of the paper.", tuple(blocks_of(Answers))),
        Entry(
            "results/comparison.json",
            "This file compares the run, claim by claim, with the reference of its scale.",
            (
                *blocks_of(
                    WithReference,
                    "With a reference of the same scale, the file is an object with these keys:",
                    elsewhere=(Fact, Claim),
                ),
                *blocks_of(
                    WithoutReference,
                    "Without one, it has only these keys:",
                    elsewhere=(ComparedClaim, KeptStudy, Reference, Fact, Claim),
                ),
            ),
        ),
        Entry(
            "results/checked.json",
            "This file is written when the results were found to be whole.",
            tuple(blocks_of(Checked)),
        ),
        Entry(
            "results/ro-crate-metadata.json",
            "This file describes the run as an RO-Crate, in JSON-LD. Its form is that of the profile Workflow Run Crate 0.5.",
            (),
        ),
        Entry(
            "data/reference/SCALE/about.json",
            "This file says where the reference of a scale comes from. Beside it lie `facts.json` and `claims.json` of "
            "that run, with the keys above.",
            tuple(blocks_of(Reference)),
        ),
        Entry(
            "data/kept/STUDY/about.json",
            "This file says where our results of a study that runs alone come from, with the keys of "
            "`data/reference/SCALE/about.json`. Beside it lie `facts.json` and `claims.json` of that run, and the study's main "
            "figure. The folder is STUDY-NAME if the run names its disk.",
            (),
        ),
        Entry(
            "data/reference/SCALE/plan.json",
            "This file holds the parts of the plan of the reference that say what was run.",
            (_KEPT_PLAN,),
        ),
    ),
)
