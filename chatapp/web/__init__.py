"""The web: requests of browsers and programs, validated and passed on."""
