"""Upsert tables on a server: the versions of their rows, and how far the server is with them.

The hook ``upsert`` reads a table's updates topic, and writes for each row which version inserted and which
one deleted it. For that each row gets the offset of its message.

========================  ================================================================================
module                    what
========================  ================================================================================
``place``                 where in Pinot all this is, by its version
``server_events``         what Pinot's classes tell the hook
``served_versions``       what queries are told: complete versions, and what is written into rows
``counters``              what was done for queries
``place_1_5``             Pinot 1.5: its own plug-in points; the version of a query is an option of it
``place_0_11``            Pinot 0.11: classes that are changed before they are loaded
``java_0_11``             the Java that runs inside Pinot 0.11: ``v0_11.upsert``
``classes_0_11``          what is changed in Pinot's classes: they call that Java
``version_filters_0_11``  the condition of a version: not before it is complete here, and by bitmaps
``offset_runs``           which row has which offset; plain Python, as are the next three
``events``                events as columns, and what they do to a row
``first_versions``        versions written into columns, and what that changed
``partition``             what is applied, pending and complete of one partition
``updates_log``           messages on the own disk, written before they are applied
``checkpoint``            up to which message the files of segments are on the disk
``sealed_rows``           the columns of a sealed segment, in its file
``consuming_rows``        the columns of a consuming segment, in Pinot's memory
``table_state``           a table's partitions, logs and segments, for all threads
``updates_topic``         the messages as Kafka has them
``helix_session``         this server's session with ZooKeeper
``follower``              the thread of a table
``table_updater``         one table: Pinot's calls, the topic and ZooKeeper together
``hook``                  the tables of the server
========================  ================================================================================
"""

from server_hooks.upsert.hook import UpsertHook

__all__ = ["UpsertHook"]
