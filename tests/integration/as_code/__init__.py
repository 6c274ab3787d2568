"""Tests of the cluster as code against real Pinot."""
