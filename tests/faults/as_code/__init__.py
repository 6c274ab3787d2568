"""Applies that are killed, and that run at once."""
