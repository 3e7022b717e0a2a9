"""Answers in English: a sentence for every question and every outcome, and the sizing table."""

from tickdisk.report.answers.dose import Row, sizing
from tickdisk.report.answers.effect import Effect, Told, listed, sentences
from tickdisk.report.answers.questions import QUESTIONS, Answer, Context, answers

__all__ = ["QUESTIONS", "Answer", "Context", "Effect", "Row", "Told", "answers", "listed", "sentences", "sizing"]
