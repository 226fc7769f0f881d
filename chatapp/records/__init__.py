"""Records: import, export, backup, erasure and proof of what is stored."""
