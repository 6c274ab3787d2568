"""Hooks that run inside or beside a Pinot server or broker: the room for pause, deep-store audit and upsert.

Nothing is public here yet.
"""
