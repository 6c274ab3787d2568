"""The records of all keys, on a local disk."""
