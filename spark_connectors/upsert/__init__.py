"""The key coordinator of upsert tables: a Spark query from a table's input topic to its updates topic."""
