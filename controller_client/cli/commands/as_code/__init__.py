"""Commands of the cluster as code: export, diff, apply, drift."""
