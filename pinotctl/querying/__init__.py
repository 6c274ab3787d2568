"""The parts of ``pinotctl query``: statements, parameters, output formats, and the shell."""
