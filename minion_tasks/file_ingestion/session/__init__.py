"""Sessions: their states and the one function that moves them, their records in ZooKeeper, their progress."""
