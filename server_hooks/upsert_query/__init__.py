"""Queries of upsert tables: the hook of a Python-hosted broker that answers each of them at one version.

=================  =====================================================================================
module             what
=================  =====================================================================================
``routing_state``  which tables are upsert tables and which mark they have, kept from ZooKeeper; plain Python
``queries``        what becomes of a query: its condition, or its refusal; plain Python
``refusal_text``   what a query is told that is refused
``routed``         which segments the broker queries, and which ones an answer needs
``broker_1_5``     the place in Pinot 1.5's broker where queries pass; Java: ``v1_5.broker``
``broker_0_11``    the places in Pinot 0.11's broker where queries pass; Java: ``v0_11.broker``
``hook``           puts them together
=================  =====================================================================================
"""

from server_hooks.upsert_query.hook import UpsertQueryHook

__all__ = ["UpsertQueryHook"]
