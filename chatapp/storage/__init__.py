"""Storage of a running turn: messages, partial replies, and requests as they were sent."""
