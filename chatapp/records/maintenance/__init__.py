"""Maintenance of a server's data: backups and restores, moves, and checks of the stored rows."""
