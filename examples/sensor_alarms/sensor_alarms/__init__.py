"""Shows what a package can add to streamgauge: a workload with its data, a program for Spark, and a study."""
