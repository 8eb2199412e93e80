"""Topology, rest measures, masses, start checks and procedural shapes. numpy and scipy only."""
