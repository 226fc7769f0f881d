"""Pages: the rows, live frames and figures that they show."""
