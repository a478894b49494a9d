"""Fake providers of models, over real HTTP: their wire formats and checks, scripted answers, faults."""

from loopback.acceptance import accepts
from loopback.answers import Call, Fault, Turn
from loopback.server import Loopback

__all__ = ["Call", "Fault", "Loopback", "Turn", "accepts"]
