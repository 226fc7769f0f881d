"""Commands of the command line, beside Django's own."""
