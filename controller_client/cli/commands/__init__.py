"""The commands of ``pinotctl`` that need only REST, SQL and ZooKeeper; one module for each."""
