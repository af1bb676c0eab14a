"""One measurement, step by step, from its plan to the report."""
