"""Starts, watches, stops and cleans up processes. No other package does."""
