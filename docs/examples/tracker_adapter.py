"""A tracker of your own drives a tool: start `tacktile run SCENE --input network`, then this.

Here the "tracker" moves 5 cm along a circle and closes the gripper half way. Nothing of Tacktile is needed.
"""

import json
import math
import socket
import sys
import time

port = int(sys.argv[1]) if len(sys.argv) > 1 else 47447
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0

with socket.create_connection(("127.0.0.1", port)) as link:
    link.sendall(b'{"tacktile": 1, "name": "circle"}\n')
    start = time.monotonic()
    while (t := time.monotonic() - start) < seconds:
        x, y = 0.05 * math.cos(t) - 0.05, 0.05 * math.sin(t)  # [m] x right, y away from you, z up
        sample = {
            "t": t,
            "pose": [x, y, 0.0, 0.0, 0.0, 0.0, 1.0],  # position, quaternion x y z w
            "gripper": 0.5 - 0.5 * math.cos(t),  # 0 open, 1 closed
            "buttons": ["clutch"] if t < 0.1 else [],  # verbs held now
        }
        link.sendall(json.dumps(sample).encode() + b"\n")
        time.sleep(1 / 90)
