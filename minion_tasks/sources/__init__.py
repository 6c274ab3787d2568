"""What a task reads: a folder of files, or a version of an Iceberg or Delta table as a set of units."""
