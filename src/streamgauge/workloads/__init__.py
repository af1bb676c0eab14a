"""What to compute, on which data, and what counts as a correct answer; independent of any engine."""
