"""What Spark runs: one module (or package) per family of workloads, one function per workload.

``traffic/ingest`` is the function ``ingest`` of the module ``traffic``; a dash becomes an underscore. A module may also
have ``LIMITS``, what Spark refuses of the family, and ``GAPS``, workloads without a program, each with its reason.
None imports pyspark before a function is called.
"""
