"""Adhesive interfaces: sticky sides, cohesion laws and releasable bonds, as stencil terms with a history."""
