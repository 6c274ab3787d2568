"""Checks of a staged version before the switch, as the task's parameters ask for them."""
