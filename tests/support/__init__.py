"""Set-up of the tests: images, the cluster of the session, waiting."""
