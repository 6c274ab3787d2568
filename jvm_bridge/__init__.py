"""The bridge to Pinot's own Java classes: jars, the JVM of this process, segment builder, hosted roles, local cluster."""
