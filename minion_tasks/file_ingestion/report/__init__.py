"""Session reports for people: figures, text, and a page with charts."""
