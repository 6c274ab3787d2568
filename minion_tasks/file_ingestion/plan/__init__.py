"""What a run has to do: source and table compared, files grouped into segments, the plan written down."""
