"""FileIngestionTask with consistent push: a folder's files become a table's segments, all or none.

How a run goes: `run` takes the table's lock and looks at the last session; `planner` compares the source
with the table and groups the new files; `session` and `session_store` keep the state in ZooKeeper; an engine
(`engine`, `engines`) runs subtasks, in minions (`executor`) or on Spark, which build and stage the segments
(`subtask_run`); `switch` publishes them by Pinot's segment replacement protocol.
"""
