"""What a person writes: slash commands, mentions of files, attachments."""
