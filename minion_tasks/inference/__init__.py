"""A schema, a table config and a task for files, guessed from the first rows of each."""
