"""Tests of the cluster as code that need no cluster."""
