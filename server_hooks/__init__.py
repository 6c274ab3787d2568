"""Hooks that run inside or beside a Pinot server or broker.

``pause``: pauses the consumption of single partitions.
``commit_upload``: a commit does not wait for the deep store.
"""
