"""The files that say what a run states: facts, claims, figures, answers, and the comparison with the reference."""

from typing import get_args

from tickdisk.compare import Comparison
from tickdisk.describe.entry import Block, Entry, Section, written
from tickdisk.describe.keys import Key, elements_of_field, keys_of_class
from tickdisk.project import KeptPlan
from tickdisk.report.answers import Answers
from tickdisk.stats import Cause
from tickdisk.studies import Claim, Fact

_IS_OBJECT = "The file is an object with these keys:"

_FACT = Block(
    "The file is an object. Its keys are the names of facts, such as `switchback.gap_max_good_up_to`: the study, "
    "a dot, and a name in the study. Each fact is an object with these keys:",
    keys_of_class(Fact, "text", "short"),
    {
        "value": "The value. It is null for a word, and for a value that could not be estimated.",
        "unit": "The unit of value, low and high; it is empty for a plain number and for a word.",
        "low": "The lower end of the interval. It is null without an interval.",
        "high": "The upper end of the interval. It is null without an interval.",
        "n": "The number of lives, requests or other things that the value rests on. It is null where the value is no estimate.",
        "source": "The file, table or study that the value comes from.",
        "note": "A remark; it may be empty.",
        "word": "The word, if the fact is a word. The key is absent otherwise.",
    },
)

_CLAIM = Block(
    "The file is a list. Each claim is an object with these keys:",
    keys_of_class(Claim),
    {
        "id": "The name of the claim: the study, a dot, and a name in the study.",
        "kind": "Whether the claim compares two conditions or is a bound that must be kept.",
        "source": "The published study that the question comes from, or `this project`.",
        "verdict": (
            "The decision. For a comparison it is different, equivalent, inconclusive or not valid; for a bound it is "
            "kept, missed, inconclusive or not valid."
        ),
        "study": (
            "The meaning of the verdict for a published finding: upheld, contradicted or open. It is empty for a claim of ours."
        ),
        "evidence": "The reason for the verdict, in words.",
        "causes": "The causes for which the verdict is inconclusive or not valid. The list is empty for another verdict.",
        "effect": "The name of the fact that says how large the effect is. It is empty if there is no such fact.",
        "facts": "The names of the facts that the claim rests on.",
        "n": "The number of lives, requests or other things that decided.",
        "counted": "The word for what n counts.",
    },
)

_CAUSES = Block(
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

_ANSWERS = Block(_IS_OBJECT, keys_of_class(Answers), {})

_ANSWER = Block("Each object of `answers` has these keys:", keys_of_class(elements_of_field(Answers, "answers")), {})

_SIZING = Block("Each object of `sizing` has these keys:", keys_of_class(elements_of_field(Answers, "sizing")), {})

REFERENCE = {
    "commit": ("text", "The commit of the project that made the reference."),
    "date": ("text", "The day on which the reference was kept."),
    "scale": ("text", "The scale of the run."),
}

_COMPARISON = written(
    "The file is an object with the keys below, and with those of the next table. Without a reference of the same "
    "scale it has only `reference`, `summary`, and an empty list `rows`:",
    {
        "reference": ("object or null", "The reference: `commit`, `date` and `scale`. It is null if no reference is kept."),
        "summary": ("text", "The comparison in a few sentences."),
    },
)

_COMPARED = Block(
    "With a reference it also has these keys:",
    keys_of_class(Comparison, "agrees"),
    {
        "first": "The folder of the first run, which is this run.",
        "second": "The folder of the second run, which is the reference.",
        "rows": "The claims of both runs.",
        "plans": "The studies whose plans differ, so that their claims are not compared.",
        "machines": "The machines of both runs, in words.",
    },
)

_COMPARED_CLAIM = Block(
    "Each object of `rows` has these keys:",
    keys_of_class(elements_of_field(Comparison, "rows")),
    {
        "id": "The name of the claim.",
        "statement": "The question of the claim.",
        "compared": "The relation of the two verdicts.",
        "intervals": "Whether the intervals of the two effects overlap; `none` if one of them has no interval.",
    },
)

_CHECKED = written(
    _IS_OBJECT,
    {
        "notebooks": ("list of texts", "The studies whose notebooks are whole."),
        "claims": ("integer", "The number of claims."),
        "facts": ("integer", "The number of facts."),
    },
    {"claims": "claims", "facts": "facts"},
)

_KEPT_PLAN = Block(
    "The file is an object with some keys of `results/plan.json`:",
    keys_of_class(KeptPlan),
    dict.fromkeys(KeptPlan.model_fields, "As there."),
)

SECTION = Section(
    "The statements of a run",
    "Each notebook writes `facts.json`, `claims.json` and `figures.json` into `results/notebooks/STUDY`. The "
    "files in `results` merge those of all studies, and the facts about the set-up of the run.",
    (
        Entry("results/facts.json", "This file holds every number and word that the paper and the page show.", (_FACT,)),
        Entry("results/claims.json", "This file holds every claim with its verdict.", (_CLAIM, _CAUSES)),
        Entry("results/figures.json", "This file names the figures of each study.", (_FIGURES,)),
        Entry("results/missing.json", "This file names the studies that this run does not have.", (_MISSING,)),
        Entry("results/answers.json", "This file holds the answers to the questions of the paper.", (_ANSWERS, _ANSWER, _SIZING)),
        Entry(
            "results/comparison.json",
            "This file compares the run, claim by claim, with the reference of its scale.",
            (_COMPARISON, _COMPARED, _COMPARED_CLAIM),
        ),
        Entry("results/checked.json", "This file is written last, when the results were found to be whole.", (_CHECKED,)),
        Entry(
            "data/reference/SCALE/about.json",
            "This file says where the reference of a scale comes from. Beside it lie `facts.json` and `claims.json` of "
            "that run, with the keys above.",
            (written(_IS_OBJECT, REFERENCE),),
        ),
        Entry(
            "data/reference/SCALE/plan.json",
            "This file holds the parts of the plan of the reference that say what was run.",
            (_KEPT_PLAN,),
        ),
    ),
)
