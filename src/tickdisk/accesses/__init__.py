"""Finds the disk accesses of captured lives of the Luanti server, says what causes them, and predicts them by a model.

`select` keeps the accesses in a table of requests: successful reads, writes and syncs of the world's files. `life_of` joins them
with the actions of players, and returns an `AccessesOfLife`. In a save the server writes all changed data, and a window lasts
from the end of one save to the end of the next. An interaction is what a player does, under the name that the PokeSto study has
for it, such as "server join".

`effects` estimates how many requests one interaction causes. The model, which `fit` fits, says how many requests or bytes each
routine of the server makes per event. A region is the terrain around the place where a player arrives, and `line` fits the number
of requests over the number of regions.
"""

from tickdisk.accesses.effects import compare, effects
from tickdisk.accesses.flush import cumulative, delayed, flushes, save_of, saves, unload_after_s
from tickdisk.accesses.form import SIZES, form, sequential, size_class, sizes
from tickdisk.accesses.life import AccessesOfLife, counts, events, life_of
from tickdisk.accesses.model import Coefficients, design, errors, errors_in_turn, estimate, fit, nonzero_coefficients, predict
from tickdisk.accesses.players import PlayerSaves, player_saves
from tickdisk.accesses.published import DIRECTIONS, PublishedAccesses, load_published
from tickdisk.accesses.regions import ARRIVALS, FittedLine, line, ratio_of_rates, region_points
from tickdisk.accesses.select import Accesses, select
from tickdisk.accesses.summary import summary

__all__ = [
    "ARRIVALS",
    "DIRECTIONS",
    "SIZES",
    "Accesses",
    "AccessesOfLife",
    "Coefficients",
    "FittedLine",
    "PlayerSaves",
    "PublishedAccesses",
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
    "life_of",
    "line",
    "load_published",
    "nonzero_coefficients",
    "player_saves",
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
