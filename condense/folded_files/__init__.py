"""Source files as signatures: functions, classes, methods and types with their rows, no bodies.

A conversation that read files is given a few lines of each, so that the model knows where to look.
Parsing takes place in a process of its own; importing this package loads no grammar.
"""
