"""Users: their preferences, passwords, API tokens and sign-in."""
