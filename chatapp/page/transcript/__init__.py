"""The rows of the chat page, made from messages, condensations and rewinds."""
