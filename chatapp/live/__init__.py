"""What runs and who watches: turns, rooms of watchers, and the frames they are sent."""
