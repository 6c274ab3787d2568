"""Each alert fires because of its fault, in the code of the affected process."""
