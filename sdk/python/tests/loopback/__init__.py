"""Fake providers of models, as real HTTP on 127.0.0.1: their wire formats, their checks, scripted answers and faults."""

from loopback.acceptance import accepts
from loopback.answers import Call, Fault, Turn
from loopback.server import Loopback

__all__ = ["Call", "Fault", "Loopback", "Turn", "accepts"]
