"""Queries of upsert tables: a hook of a Python-hosted broker that answers each query at one version.

=================  =====================================================================================
module             content
=================  =====================================================================================
``routing_state``  the upsert tables and their marks, read from ZooKeeper and cached; plain Python
``queries``        the version of a query, or the reason to reject it; plain Python
``refusal_text``   the message of a rejected query
``routed``         which segments the broker queries, and which ones an answer needs
``broker_1_5``     the extension point in Pinot 1.5's broker; Java: ``v1_5.broker``
``broker_0_11``    the patch points in Pinot 0.11's broker; Java: ``v0_11.broker``
``hook``           connects all of these
=================  =====================================================================================
"""

from server_hooks.upsert_query.hook import UpsertQueryHook

__all__ = ["UpsertQueryHook"]
