"""Search, as far as it is about words: no database, no page.

``texts``    what of a message can be found
``queries``  what somebody looks for, and where a text has it
``questions``  what a question is about, and which texts may answer it
"""
