"""Analyses the storage accesses of captured server lives: what causes them, what they look like, and a model that predicts them.

An access is a successful read, write or sync of a file of the world. `select` finds the accesses in the table of requests of a
capture, and `life_of` joins them with the actions of the players to a `Life`.

- A save is a step of the server in which it writes all changed data. `saves`, `flushes`, `delayed` and `cumulative` tell when
  data are written. A window is the time between the ends of two saves. `counts` has the accesses of each window.
- An interaction is a deed of a player in the words of the published study, such as "server join". `effects` estimates the
  accesses that an interaction causes, and `compare` places them beside the published findings (`load_published`).
- `form`, `sizes` and `sequential` describe the requests. `line` fits the accesses over the number of regions, which are the
  places that players come to (`region_points`).
- The generative model has a cost for each event of a routine, such as "region load" (`ROUTINES`). `fit` estimates the costs from
  some lives as `Coefficients`, and `errors` and `predict` test them on other lives.
"""

from tickdisk.accesses.effects import compare, effects
from tickdisk.accesses.flush import cumulative, delayed, flushes, save_of, saves, unload_after_s
from tickdisk.accesses.form import SIZES, form, sequential, size_class, sizes
from tickdisk.accesses.life import ROUTINES, UNLOADED, Life, counts, events, interactions, life_of
from tickdisk.accesses.model import Coefficients, design, errors, errors_in_turn, estimate, fit, nonzero_coefficients, predict
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
    "load_published",
    "nonzero_coefficients",
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
