"""Starts, watches, stops and cleans up processes: the one place that does."""
