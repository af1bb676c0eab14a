"""Power consumption of a plant: readings of sensors, and the tree of groups that these are in (Ehrenstein, 2020)."""

STREAM = "readings"
"""Readings: ``n_seq``, event time in milliseconds, sensor and watts, separated by tabs; the sensor is the key."""
