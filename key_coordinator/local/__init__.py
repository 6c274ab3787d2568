"""The engine ``local``: a key coordinator in one process, with its state on a local disk."""
