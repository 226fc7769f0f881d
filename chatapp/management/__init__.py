"""What the command line can do beside Django's own commands."""
