"""Transforms and filters of a table config over whole columns.

Pinot's own classes evaluate them, over the columns that are their arguments.
"""
