"""Earlier versions of a table: what a session changed, and the segments with which that can be undone."""
