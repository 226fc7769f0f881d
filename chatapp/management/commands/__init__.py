"""One command per file, named like the command."""
