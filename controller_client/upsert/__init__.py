"""Upsert tables: their settings, the messages of their updates, and their progress."""
