"""A strip of tape backing falls over the edge of a box and is pulled along by one end.

Run it with `python docs/examples/strip_over_box.py`; a test runs it too.
"""

from engine import ContactMaterial, Engine, ModelBuilder, Options, ShellMaterial
from engine.mesh import shapes

# A model: named parts, SI units. Surfaces may not start touching; a strip 0.079 mm thick lies 1 mm above the box.
strip, strip_triangles = shapes.strip_mesh(length=0.16, width=0.02, cells_across=2)
box, box_triangles = shapes.box_surface(size=(0.10, 0.10, 0.04))
hand, hand_triangles = shapes.box_surface(size=(0.006, 0.02, 0.004))

builder = ModelBuilder()
backing = ShellMaterial(young=1.5e9, poisson=0.35, thickness=79e-6, density=1000.0)
builder.add_shell("strip", strip + (0.0, 0.0, 0.021), strip_triangles, backing, ContactMaterial(half_thickness=39.5e-6))
builder.add_static("box", box - (0.05, 0.0, 0.0), box_triangles, ContactMaterial(friction_mu=0.4))
builder.add_body("hand", hand + (0.081, 0.0, 0.021), hand_triangles, density=1000.0, driven=True)
builder.attach("strip", strip[:, 0] > 0.078, "hand")  # the end rides on the hand

# An engine steps it. Worlds, device and step are chosen here; the strip would be the same on "cuda:0".
engine = Engine(builder.finalize(num_worlds=1, device="cpu"), Options(dt=1 / 30))
control = engine.control()
for k in range(30):
    control.body_transform[0, 0, 2, 3] -= 0.04 / 30  # the hand sinks by 40 mm in a second
    report = engine.step(control)
    if not report.converged:
        print(f"step {k}: {report.messages}")

points = engine.mesh_positions("strip")  # (n, 3) [m]
signals = engine.signals()
print(f"the end went down by {1e3 * (0.021 - points[:, 2].min()):.1f} mm")
print(f"the hand carries {1e3 * signals.drive_force[0, 0, 2]:.2f} mN, {signals.contact_count[0]} contacts")
print(f"last step: {report.newton_iterations} Newton, {report.linear_iterations} {report.linear_solver} iterations")

# All that a restart needs lies in one file; the run goes on to the bit from there.
engine.save("strip_over_box.npz")
engine.step(control)
once = engine.positions()
engine.load("strip_over_box.npz")
engine.step(control)
print(f"resumed to the bit: {bool((engine.positions() == once).all())}")
