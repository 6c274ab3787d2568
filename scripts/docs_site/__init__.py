"""What the documentation site has beside the pages of docs: the API reference, files of the repository, checks."""
