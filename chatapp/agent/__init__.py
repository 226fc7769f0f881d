"""The agent loop and the ports it needs; knows neither Django nor any vendor."""
