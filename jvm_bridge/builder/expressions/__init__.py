"""Evaluates transforms and filters of a table config over whole columns, with Pinot's own classes."""
