"""Asks, decides and writes: from answers, readings and measurements to the selection document."""

__version__ = "0.1.0"
