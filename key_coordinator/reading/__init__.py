"""Turns messages of the input topic into records of keys, as Pinot will store them."""
