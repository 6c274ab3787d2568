"""Passes whole columns to Pinot's driver: the form in which Java reads them, and the Java classes that do."""
