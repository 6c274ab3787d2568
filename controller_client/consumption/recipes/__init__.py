"""Changes of a realtime table in several steps: drain, change its stream, recover what was lost."""
