"""The key coordinator of upsert tables as a Spark query from a table's input topic to its updates topic."""
