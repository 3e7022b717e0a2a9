"""Predicts how a captured server life would tick, and answer its players, on another device. Nothing is fitted to an outcome.

A capture becomes a program: a stream of steps for each thread, which computes, makes block requests, or waits for another thread,
a timer or a packet. `predict` times the program on the model of the other device, and on that of the captured device, where the
captured tick gaps must come out.
"""

from tickdisk.predict.predict import CONTROL, LONGEST, MEAN, CapturedLife, load_captured, predict
from tickdisk.predict.record import Forecast, Prediction
from tickdisk.predict.words import screen

__all__ = ["CONTROL", "LONGEST", "MEAN", "CapturedLife", "Forecast", "Prediction", "load_captured", "predict", "screen"]
