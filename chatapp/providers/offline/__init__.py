"""A stand-in for a model that needs no network and no key.

``provider``  the port; ``reading``  a request as things that happened
``chat``      what to answer: from tools (``tools``), from what was said (``recall``), or at length
              (``essay``); ``summary``  the nine sections, filled from what was said and done
"""
