"""Upsert tables on a server: applies the versions of their rows, and reports the server's progress.

The hook ``upsert`` reads a table's updates topic, and writes for each row which version inserted it and which
one deleted it. It finds the row by the offset of its message, which it adds to each row.

========================  ================================================================================
module                    content
========================  ================================================================================
``extension_point``       where the hook is installed in Pinot, by version
``server_events``         the events that Pinot's classes report to the hook
``served_versions``       the complete versions, and the versions of rows, for queries
``counters``              counters of what was done for queries
``extension_point_1_5``   Pinot 1.5: its own extension points; a query names its version in an option
``extension_point_0_11``  Pinot 0.11: classes that are patched before they are loaded
``java_0_11``             the Java classes that run inside Pinot 0.11: ``v0_11.upsert``
``classes_0_11``          the patches of Pinot's classes: they call these Java classes
``version_filters_0_11``  the condition of a version: waits until it is complete here, and uses bitmaps
``offset_runs``           which row has which offset; plain Python, as are the next three
``events``                events as columns, and their effect on a row
``first_versions``        writes versions into columns, and returns the changes
``partition``             the events of one partition that are applied, pending and complete
``updates_log``           messages on the server's disk, written before they are applied
``checkpoint``            up to which message the files of segments are flushed to the disk
``sealed_rows``           the columns of a sealed segment, in its file
``consuming_rows``        the columns of a consuming segment, in Pinot's memory
``table_state``           a table's partitions, logs and segments, for all threads
``updates_topic``         the messages in Kafka
``helix_session``         this server's session with ZooKeeper
``follower``              the thread of a table
``table_updater``         one table: connects Pinot's calls, the topic and ZooKeeper
``hook``                  the tables of the server
========================  ================================================================================
"""

from server_hooks.upsert.hook import UpsertHook

__all__ = ["UpsertHook"]
