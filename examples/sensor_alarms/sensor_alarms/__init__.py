"""Shows what a package adds to streamgauge: a workload with its data, a program for Spark, and a study."""
