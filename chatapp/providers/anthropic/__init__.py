"""Claude, through Anthropic's official SDK.

``provider``  the port; ``call`` makes one call (and alone imports the SDK, on first use)
``request``   what is sent; ``reply``  what comes back; ``errors``  refusals, in words for people
"""
