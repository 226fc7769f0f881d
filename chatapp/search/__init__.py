"""Search, as far as it is about words: no database, no page."""
