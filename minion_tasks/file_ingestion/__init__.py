"""FileIngestionTask with consistent push: the files of a folder become segments of a table, all or none.

The parts of a run: `run` takes the table's lock and checks the last session; `plan` compares the source with
the table and groups the new files; `session` keeps the state in ZooKeeper; `engine` runs subtasks, on minions
or on Spark, which build and stage the segments; `run` then publishes them by Pinot's segment replacement
protocol.
"""
