"""What a session did, for people: figures, text, a page with charts."""
