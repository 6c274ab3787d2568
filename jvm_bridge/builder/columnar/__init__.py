"""Whole columns on their way to Pinot's driver: the form in which Java reads them, and the Java that does."""
