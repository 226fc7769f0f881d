"""The one error of the services."""


class Refused(Exception):
    """A change was not made; the text says why and what to do."""
