"""Live views: open pages of a conversation, and the frames that keep them current."""
