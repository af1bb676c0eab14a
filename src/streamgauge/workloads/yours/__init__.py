"""Your own data: files that are replayed, or a function that makes records."""
