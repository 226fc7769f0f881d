"""Claude, through Anthropic's official SDK, which is imported when the first call is made.

``spec``      models and prices; ``provider``  a call; ``errors``  what a refusal is about
``request``   what is sent, and of which ``blocks``; ``reply``  what comes back
``thinking``  and ``compaction``: how they are asked for, and what of them is sent back
"""
