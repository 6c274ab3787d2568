"""Sessions: states and transitions, records in ZooKeeper, progress."""
