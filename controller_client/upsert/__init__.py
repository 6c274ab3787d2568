"""Upsert tables: their settings, the messages of their updates, and how far each part of them is."""
