"""Shared utilities: retries, waiting, names, masking of secrets, folders, text for users."""
