"""Tokens: counters for contents, the encoding behind them, and their calibration."""
