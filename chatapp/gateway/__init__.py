"""The gateway: requests of other programs are passed on byte for byte, and recorded."""
