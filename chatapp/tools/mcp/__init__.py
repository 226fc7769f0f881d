"""Tools of MCP servers: other programs, each described by the user it belongs to.

The SDK is imported with the first connection, by ``connection`` and what that is made of; the other
modules do without it. What a server says is hostile: its names, descriptions and schemas as well.

``servers``      a server, and why it can't be used
``definitions``  what a server says of its tools, made fit for a model
``remote``       such a tool, as the toolbox runs it
``pool``         connections, kept for a while
``connection``   one of them: opened, asked and closed in time
``commands``     servers that are commands, which run as the agent's do
``web``          servers that have an address
``results``      what a tool has returned, made fit for a model
"""
