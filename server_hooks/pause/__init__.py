"""Partition-level pause: the hook that pauses the consumption of single partitions in a Python-hosted server.

Pinot's consumer asks its rate limiter before it indexes a batch, the first batch of each segment too. There
the hook stands: it lets the first batch of a segment through, or keeps the consumer waiting for as long as
the ideal state's ``pausedPartitions`` has the segment's partition. A paused segment is a consuming segment
that has no rows
yet: for the controller, the brokers, a restart and a rebalance it is like one whose topic is silent.

=================  =====================================================================================
module             what
=================  =====================================================================================
``gate``           which segments are paused and which are released; plain Python
``place``          where in Pinot consumers ask, by what it has
``limiter_0_11``   the place in Pinot 0.11, and reflection; Java: ``v0_11.pause``
``segments_1_5``   the place since Pinot 1.4; Java: ``v1_5.tables``
``followed``       which tables are paused, by watches: while none is, nothing is asked
``hook``           the thread that seals what still consumes, and reports
``metrics``        what is held since when, as metrics
``waiting_rows``   the rows in the stream that wait meanwhile, and those that are about to go
=================  =====================================================================================
"""

from server_hooks.pause.hook import PauseHook

__all__ = ["PauseHook"]
