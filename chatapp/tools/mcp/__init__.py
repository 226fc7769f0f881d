"""Tools of MCP servers: other programs, each described by the user it belongs to.

The SDK is imported with the first connection; ``servers`` and ``pool`` do without it. All texts of
a server are hostile: its names, descriptions and schemas as well.
"""
