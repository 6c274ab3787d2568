"""Partition-level pause: a hook that pauses the consumption of single partitions in a Python-hosted server.

The thread of a consuming segment asks the hook before its first fetch. The hook releases the segment, or
blocks the thread for as long as the ideal state's ``pausedPartitions`` contains the segment's partition. A
paused segment is a consuming segment that has no rows yet: for the controller, the brokers, a restart and a
rebalance it looks like a segment whose topic gets no messages.

===================  =====================================================================================
module               content
===================  =====================================================================================
``gate``             which segments are paused and which are released; plain Python
``extension_point``  where consumers ask the gate, by Pinot version
``consumers_0_11``   the extension point in Pinot 0.11, and reflection; Java: ``v0_11.pause``
``segments_1_4``     the extension point since Pinot 1.4; Java: ``v1_5.tables``
``java_gate``        the function that both extension points have Java call
``followed``         which tables are paused, by watches: while none is, nothing is read
``hook``             the thread that seals segments of paused partitions, and reports
``metrics``          the number of paused partitions and the start of their pauses, as metrics
``waiting_rows``     the rows that wait in the stream, and those that are about to expire
===================  =====================================================================================
"""

from server_hooks.pause.hook import PauseHook

__all__ = ["PauseHook"]
