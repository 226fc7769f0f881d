"""The record of what was sent, and the way back from it to the same bytes.

``items``   how a list of messages is written down
``log``     writes the record of each call
``reader``  puts requests together again
"""
