"""The stream under a realtime table: its part of the table config, and the offsets that the stream has."""
