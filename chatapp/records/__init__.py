"""Records: import, export, backups, erasure and proof."""
