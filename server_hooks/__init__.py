"""Hooks that run inside a Python-hosted Pinot server or broker.

``pause``: pauses the consumption of single partitions.
``commit_upload``: lets a commit finish without waiting for the deep store.
``upsert``, ``upsert_query``: track the versions of rows in upsert tables, and answer a query at one version.
``java``: the Java code of the hooks, one package for each hook and range of Pinot versions.
"""
