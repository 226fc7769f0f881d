"""The JSON API; nothing here is loaded before the first request.

``auth``           tokens, what their owners may reach, and refusals
``schemas``        what is answered, and what may be sent
``paging``         lists in parts
``conversations``  conversations, their messages, attachments and pins, what the model sees
``turns``          turns: streamed as server-sent events, stopped, asked for, answered
``history``        rewinds, forks, condensations and model calls
``settings``       profiles and settings
``urls``           all of it, with its description
"""
