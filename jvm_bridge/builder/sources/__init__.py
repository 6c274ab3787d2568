"""Files and Arrow tables as sources of columns: one module per format, and the preparation of files.

A source gives the same values as Pinot's own reader for the format, or raises ``Unsuitable`` with the reason.
"""
