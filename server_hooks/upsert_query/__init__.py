"""Queries of upsert tables: the hook of a Python-hosted broker that answers each of them at one version.

=================  =====================================================================================
module             what
=================  =====================================================================================
``routing_state``  which tables are upsert tables and which mark they have, kept from ZooKeeper; plain Python
``queries``        what becomes of a query: its condition, or its refusal; plain Python
``broker_0_11``    the places in Pinot 0.11's broker where queries pass; all reflection and byte code
``hook``           puts them together
=================  =====================================================================================
"""

from server_hooks.upsert_query.hook import UpsertQueryHook

__all__ = ["UpsertQueryHook"]
