"""The composer: slash commands, mentions of files, attachments."""
