"""Commands for the cluster as code: export, diff, apply, drift."""
