"""The study of storage accesses: from a captured server life to who causes which requests, their form, and a generative model."""

from tickdisk.accesses.effects import compare, effects
from tickdisk.accesses.flush import cumulative, delayed, flushes, save_of, saves, unload_after_s
from tickdisk.accesses.form import SIZES, form, sequential, size_class, sizes
from tickdisk.accesses.life import ROUTINES, UNLOADED, Life, counts, events, interactions, life_of
from tickdisk.accesses.model import Coefficients, design, errors, errors_in_turn, estimate, fit, listed, predict
from tickdisk.accesses.published import DIRECTIONS, Published, load_published
from tickdisk.accesses.regions import ARRIVALS, Line, line, ratio_of_rates, region_points
from tickdisk.accesses.select import Accesses, select
from tickdisk.accesses.summary import summary

__all__ = [
    "ARRIVALS",
    "DIRECTIONS",
    "ROUTINES",
    "SIZES",
    "UNLOADED",
    "Accesses",
    "Coefficients",
    "Life",
    "Line",
    "Published",
    "compare",
    "counts",
    "cumulative",
    "delayed",
    "design",
    "effects",
    "errors",
    "errors_in_turn",
    "estimate",
    "events",
    "fit",
    "flushes",
    "form",
    "interactions",
    "life_of",
    "line",
    "listed",
    "load_published",
    "predict",
    "ratio_of_rates",
    "region_points",
    "save_of",
    "saves",
    "select",
    "sequential",
    "size_class",
    "sizes",
    "summary",
    "unload_after_s",
]
