"""Other engines on the same problems, imported by the cases that compare; none is needed to run Tacktile."""
