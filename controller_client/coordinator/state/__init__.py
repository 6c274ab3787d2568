"""The record of each key, on a local disk."""
