"""Commands that belong to server_hooks."""
