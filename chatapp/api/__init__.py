"""What programs ask for and send, as JSON; nothing here is loaded before the first request.

``door``           who is let in, and how a refusal is told
``shapes``         what an answer looks like
``conversations``  conversations, their messages, what the model sees
``records``        condensations and model calls
``own``            profiles and settings
``paging``         lists in parts
``streaming``      a turn as server-sent events
``urls``           all of it, with its description
"""
