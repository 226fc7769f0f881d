"""What a library in Rust raises where it gives up: no ``Exception``."""


class PanicException(BaseException):
    """As ``pyo3`` names it."""
