"""Tape rolls: winding, assets."""
