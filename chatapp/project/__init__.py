"""The project: its environment, languages, network, logs and files."""
