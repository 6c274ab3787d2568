"""Checks of what is staged, before the switch: those that a task or a write asks for."""
