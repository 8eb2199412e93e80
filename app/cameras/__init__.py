"""Cameras of an episode: drawn from its recorded states, stored beside it. docs/cameras.md."""
