"""Answers in English: a sentence for every question and every outcome, and the sizing table."""

from tickdisk.report.answers.disk import of_disk
from tickdisk.report.answers.dose import Row
from tickdisk.report.answers.effect import Effect, Told, listed, sentences
from tickdisk.report.answers.questions import QUESTIONS, Answer, Answers, answer

__all__ = ["QUESTIONS", "Answer", "Answers", "Effect", "Row", "Told", "answer", "listed", "of_disk", "sentences"]
