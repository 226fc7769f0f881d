"""OpenAI's chat completions, through its official SDK, which is imported with the first call.

Many other servers speak them at an address of their own; what one lacks, its refusals tell.

``spec``      models, prices and other servers; ``provider``  a call; ``errors``  refusals
``request``   what is sent, in ``blocks``, as the server's ``traits`` allow
``reply``     what comes back; ``catalog``  the server's list of models
"""
