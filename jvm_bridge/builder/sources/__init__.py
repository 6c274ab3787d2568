"""Files and Arrow tables as sources of columns: one module a format, and what makes a file ready for it.

A source gives what Pinot's own reader of the format would give, or says why it cannot (``Unsuitable``).
"""
