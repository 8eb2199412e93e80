"""`tacktile sensor calibrate`: the colour image of a gel sensor from pictures of a ball pressed into it."""
