"""Commands of ``pinotctl`` that need a JVM or the jars."""
