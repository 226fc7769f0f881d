"""Django's backend for SQLite, as this project needs it."""
