"""Carry records to the engine and results back, and timestamp both."""
