"""``spark.read.format("pinot")``: the rows of a table that queries see, as record batches.

============  ==============================================  =============================================
``readFrom``  how                                             when
============  ==============================================  =============================================
servers       gRPC, a task for every few segments of a        the default
              server; another replica if one fails
segments      tar files from the deep store or servers,       entire tables, without load on the servers;
              read in the task's JVM                          not for upsert tables
broker        SQL over HTTP, one task                         servers are not reachable from executors; the
                                                              option ``query``
============  ==============================================  =============================================

The segments are determined once, when Spark plans the job: those in the ideal state that the lineage does not
hide. For an upsert table, the version to read is determined before. A task returns the rows of all of its
segments or fails: rows are passed to Spark only after the server's complete answer was checked against the
request and against the number of rows that the server reports as scanned.
"""
