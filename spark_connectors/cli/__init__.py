"""Commands of ``pinotctl`` that run on Spark."""
