"""What is computed, free of any engine: schemas, parameters and the reference answer in PySpark batch."""
