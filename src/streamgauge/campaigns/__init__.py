"""Many measurements for one answer: repetition, comparison, capacity, reproduction. Each can be resumed."""
