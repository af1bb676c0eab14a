"""Turns a run directory into measures and a summary. Importing it does not import pyspark."""

from streamgauge.evaluate.evaluation import evaluate, evaluate_without_spark, needs_spark

__all__ = ["evaluate", "evaluate_without_spark", "needs_spark"]
