"""Looking after a server's data: backups, their return, and whether what is stored is sound."""
