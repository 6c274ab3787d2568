"""What ``pinotctl query`` is made of: statements, parameters, forms of results, and the shell."""
