"""Spark's programs: one module (or package) per workload family, one function per workload.

``traffic/ingest`` is the function ``ingest`` of the module ``traffic``; a dash becomes an underscore. A module may also
have ``LIMITS`` (combinations that Spark refuses) and ``GAPS`` (workloads without a program, with the reason).
No module imports pyspark before a function is called.
"""
