"""Other engines, driven through the same problems. Imported by the cases that compare; none is needed to run Tacktile."""
