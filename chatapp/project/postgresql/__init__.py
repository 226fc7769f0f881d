"""Django's backend for PostgreSQL, as this project needs it; imported only with DATABASE_URL."""
