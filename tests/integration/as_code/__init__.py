"""The cluster as code against real Pinot."""
