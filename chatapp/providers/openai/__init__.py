"""OpenAI's chat completions, through its official SDK, which is imported with the first call.

Many other servers speak them at an address of their own; what one lacks, its refusals tell.

``spec``      models, prices and other servers; ``provider``  the port
``catalog``   what the server lists
``call``      one call, over a ``connection``; ``errors``  refusals, in words for people
``request``   what is sent, in ``blocks``, as the server's ``traits`` allow
``reply``     what comes back: ``thinking`` told from text, and ``facts`` of the call
"""
