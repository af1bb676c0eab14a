"""What a run records about the machine: its description, clocks, calibration and provenance."""
