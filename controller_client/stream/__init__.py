"""The stream of a realtime table: its part of the table config, and its offsets."""
