"""What a turn writes while it runs: messages, partial replies, requests as they were sent."""
