"""Contact: candidates, barrier, friction, continuous collision detection."""
