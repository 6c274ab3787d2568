"""The cluster as code, without a cluster."""
