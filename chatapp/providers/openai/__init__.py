"""OpenAI's chat completions, through its official SDK, which is imported with the first call.

Many other servers speak them at an address of their own; the parts that one lacks are learned from
its refusals.
"""
