"""``spark.read.format("pinot")``: what queries see of a table, as record batches.

============  ==============================================  =============================================
``readFrom``  how                                             when
============  ==============================================  =============================================
servers       gRPC, one task for some segments of a server;   the default
              the next replica where one fails
segments      tars from the deep store or from servers,       whole tables, without load on the servers;
              read in the task's JVM                          not for upsert tables
broker        SQL over HTTP, one task                         servers cannot be reached from executors; the
                                                              option ``query``
============  ==============================================  =============================================

Which segments there are is asked once, when Spark plans the job: those of the controller's ideal state that
the lineage does not hide; of an upsert table, after the version that is read was found. A task gives the rows
of all of its segments or fails: rows reach Spark only after the server's whole answer was checked against
what it was asked and what it reports as scanned.
"""
