"""What a table's consumption is: its pauses, partitions and lag, as ZooKeeper and the servers report them."""
