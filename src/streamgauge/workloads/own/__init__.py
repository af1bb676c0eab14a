"""The user's own query in the place of a workload."""
