"""Answers to the questions of the paper in whole English sentences, for every outcome of a run.

`answer` takes the merged facts and claims of a run and returns an answer to each of the `QUESTIONS`, advice to an operator, and
the sizing table, which says up to which storage latency each metric is good, and which class of disk is therefore enough.
"""

from tickdisk.report.answers.asked import Asked
from tickdisk.report.answers.disk import effects_of_disk
from tickdisk.report.answers.dose import METRICS, PLAY, SizingRow
from tickdisk.report.answers.effect import Effect, ServerResult, sentence_beside, sentences
from tickdisk.report.answers.questions import ANSWERS, QUESTIONS, Answers, answer
from tickdisk.report.answers.why import has_too_few

__all__ = [
    "ANSWERS",
    "METRICS",
    "PLAY",
    "QUESTIONS",
    "Answers",
    "Asked",
    "Effect",
    "ServerResult",
    "SizingRow",
    "answer",
    "effects_of_disk",
    "has_too_few",
    "sentence_beside",
    "sentences",
]
