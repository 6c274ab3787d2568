"""What a run has to do: compare source and table, group files into segments, write the plan."""
