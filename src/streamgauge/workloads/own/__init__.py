"""A user's query that replaces a workload."""
