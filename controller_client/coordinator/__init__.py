"""The key coordinator of upsert tables: which row of each key is shown, version by version."""
