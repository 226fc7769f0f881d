"""Whom this server calls on behalf of its users.

``addresses``  the guard: which addresses may be called at all
``pinned``     connects to the addresses that were checked, and to no others
``failures``   why one could not be reached, in words
"""
