"""Claude, through Anthropic's official SDK, which is imported when the first call is made.

``spec``      models and prices; ``provider``  the port; ``catalog``  what the server lists
``call``      one call, over a ``connection``; ``errors``  refusals, in words for people
``request``   what is sent, and of which ``blocks``; ``reply``  what comes back
``thinking``  how it is asked for, and what of it is sent back
"""
