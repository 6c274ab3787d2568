"""From messages of the input topic to records of keys, as Pinot will store them."""
