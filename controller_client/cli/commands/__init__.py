"""The commands of ``pinotctl`` that need REST, SQL and ZooKeeper only; one module for each."""
