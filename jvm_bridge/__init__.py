"""The bridge to Pinot's Java classes: jars, JVM, segment builder, hosted roles, local cluster."""
