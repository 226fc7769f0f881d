"""What programs ask for and send, as JSON; nothing here is loaded before the first request.

``door``           who is let in, and how a refusal is told
``shapes``         what an answer looks like
``record_shapes``  what the record looks like in one
``conversations``  conversations, their messages, what the model sees
``attachments``    files that go with a message
``turns``          what runs: stopped, asked for, answered
``history``        going back, and taking that back; forks
``pins``           what the model keeps word for word
``records``        condensations and model calls
``own``            profiles and settings
``wishes``         what may be asked to be done or changed
``paging``         lists in parts
``streaming``      a turn as server-sent events
``urls``           all of it, with its description
"""
