"""Setup of the tests: images, the session's cluster, waiting."""
