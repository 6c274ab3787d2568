"""The HTML pages that commands write beside what they print, from the same objects."""
