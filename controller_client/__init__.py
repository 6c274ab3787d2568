"""Everything said to a Pinot cluster from outside: controller REST, broker SQL, ZooKeeper. No JVM, no Spark."""
