"""The bridge to Pinot's Java classes: jars, the JVM, segment builder, hosted roles, local cluster."""
