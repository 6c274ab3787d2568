"""The key coordinator of upsert tables: it decides which row of each key is visible in each version."""
