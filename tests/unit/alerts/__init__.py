"""Each alert is made to fire by its fault, in the code of the process that has it."""
