"""Hooks that run inside or beside a Pinot server or broker.

``pause``: pauses the consumption of single partitions.
``commit_upload``: a commit does not wait for the deep store.
``upsert``, ``upsert_query``: the versions of upsert tables' rows, and queries at one version.
``java``: what runs inside Pinot for them, a Java package for each and each range of Pinot's versions.
"""
