"""What a run learns about the machine: its description, clocks, calibration and provenance."""
