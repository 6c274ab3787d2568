"""What the documentation site adds to the pages of docs: API reference, files of the repository, checks."""
