"""What is computed, on which data, with which meaning of a right answer; free of any engine."""
