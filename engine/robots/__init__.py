"""Kinematics of robots: a tree of links and joints, where its links are, and which joints bring a link to a pose."""
