"""Materials and contact surfaces as the builder takes them. SI units; every number is checked on entry."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_REACH = 1.0  # [m] of contact


def _positive(owner: str, **values: float) -> None:
    for name, value in values.items():
        if not value > 0.0:
            raise ValueError(f"{owner}.{name} is {value!r}; it must be greater than 0")


def _poisson(owner: str, value: float, low: float) -> None:
    if not low < value < 0.5:
        raise ValueError(f"{owner}.poisson is {value!r}; it must lie between {low} and 0.5")


@dataclass(frozen=True)
class ShellMaterial:
    """A thin sheet: StVK membrane and plate bending.

    young [Pa], poisson [-], thickness [m] (full), density [kg/m3];
    bending_weight "plate" (reproduces plate theory) or "grinspun" (three times stiffer; parity runs only);
    damping: velocity damping [1/s] (force = damping * mass * v).
    """

    young: float = 1.5e9
    poisson: float = 0.35
    thickness: float = 0.079e-3
    density: float = 1000.0
    bending_weight: str = "plate"
    damping: float = 0.0

    def __post_init__(self):
        _positive("ShellMaterial", young=self.young, thickness=self.thickness, density=self.density)
        _poisson("ShellMaterial", self.poisson, -1.0)
        if self.bending_weight not in ("plate", "grinspun"):
            raise ValueError(f"ShellMaterial.bending_weight is {self.bending_weight!r}; legal values: plate, grinspun")


@dataclass(frozen=True)
class SolidMaterial:
    """A soft solid: neo-Hookean tetrahedra (log J). young [Pa], poisson [-], density [kg/m3], damping [1/s]."""

    young: float = 2e5
    poisson: float = 0.4
    density: float = 1000.0
    damping: float = 0.0

    def __post_init__(self):
        _positive("SolidMaterial", young=self.young, density=self.density)
        _poisson("SolidMaterial", self.poisson, 0.0)


@dataclass(frozen=True)
class ContactMaterial:
    """How a surface touches.

    dhat: barrier activation distance [m]; a pair takes the smaller. half_thickness: contact half-thickness [m]; two
    surfaces touch at the sum. kappa: barrier stiffness [Pa]; a pair takes the smaller. friction_mu [-]: a pair takes
    the geometric mean. layer: surfaces of layers that do not collide are listed with `ModelBuilder.ignore_layers`.
    self_collision: whether the surface collides with itself.
    """

    dhat: float = 1e-3
    half_thickness: float = 0.0
    kappa: float = 1e5
    friction_mu: float = 0.3
    layer: int = 0
    self_collision: bool = True

    def __post_init__(self):
        _positive("ContactMaterial", dhat=self.dhat, kappa=self.kappa)
        if self.half_thickness < 0.0:
            raise ValueError(f"ContactMaterial.half_thickness is {self.half_thickness!r}; it must be at least 0")
        for name, length in (("dhat", self.dhat), ("half_thickness", self.half_thickness)):
            if not length <= LONGEST_REACH:  # everything would be near everything: memory grows with the square
                raise ValueError(f"ContactMaterial.{name} is {length!r} m; it must be at most {LONGEST_REACH:g} m")
        if self.friction_mu < 0.0:
            raise ValueError(f"ContactMaterial.friction_mu is {self.friction_mu!r}; it must be at least 0")
        if not 0 <= self.layer < 32:
            raise ValueError(f"ContactMaterial.layer is {self.layer!r}; it must lie in 0..31")


@dataclass(frozen=True)
class JointDrive:
    """A spring-damper that pulls a joint coordinate to its target.

    stiffness [N/m or N m/rad], damping [N s/m or N m s/rad], force_limit [N or N m] (None = none).
    """

    stiffness: float
    damping: float = 0.0
    force_limit: float | None = None


@dataclass(frozen=True)
class JointSpring:
    """A passive spring of a joint that gives way: a crease keeps part of its fold. Not driven by `Control`.

    stiffness [N/m or N m/rad]; yield_force [N or N m] at which its rest position follows (None = never); damping
    [N s/m or N m s/rad]; rest [m or rad], None = where the joint starts.
    """

    stiffness: float
    yield_force: float | None = None
    damping: float = 0.0
    rest: float | None = None

    def __post_init__(self):
        _positive("JointSpring", stiffness=self.stiffness)
        _not_negative("JointSpring", damping=self.damping)
        if self.yield_force is not None:
            _positive("JointSpring", yield_force=self.yield_force)


@dataclass(frozen=True)
class JointFriction:
    """Coulomb friction along the coordinate of a joint. force [N or N m]; slip [m or rad]: by how much the joint gives
    before it slides."""

    force: float
    slip: float = 0.01

    def __post_init__(self):
        _positive("JointFriction", force=self.force, slip=self.slip)


@dataclass(frozen=True)
class FrontAdhesive:
    """`cohesion: front`: peel work that does not depend on the mesh; see docs/physics/cohesion_front.md.

    work: W, spent to separate a unit area slowly [J/m2]; 0 = never sticks. rate_exponent m and rate_speed v_ref [m/s]:
    the law's traction, and so its work, grows by (1 + speed / v_ref)^m. stick_speed: a pressed point sticks only below
    this relative speed [m/s].
    """

    work: float = 263.0
    rate_exponent: float = 0.0
    rate_speed: float = 1e-2
    stick_speed: float = 0.02
    law = "front"

    def __post_init__(self):
        _positive("FrontAdhesive", rate_speed=self.rate_speed, stick_speed=self.stick_speed)
        _not_negative("FrontAdhesive", work=self.work, rate_exponent=self.rate_exponent)


def _not_negative(owner: str, **values: float) -> None:
    for name, value in values.items():
        if not value >= 0.0:
            raise ValueError(f"{owner}.{name} is {value!r}; it must be at least 0")


@dataclass(frozen=True)
class RccAdhesive:
    """`cohesion: rcc`: Raous-Cangemi-Cocou intensity; see docs/physics/cohesion_rcc.md. Peel forces depend on the mesh.

    scaling "physical": stiffness_normal, stiffness_tangential C_n, C_t [Pa/m], work W [J/m2], viscosity b [N s/m3],
    times the point's area. scaling "paper": C_n, C_t [N] over 2 dhat a point, W and b in the same measure C u^2 [N m2]
    and [N s m2], whatever the area; an opening beyond dhat frees the point. bonding_rate gamma [1/s], bonding_pressure
    p_0 [Pa] (0: full strength in any contact): how beta grows in contact. stick_speed: only below this speed [m/s].
    """

    work: float = 263.0
    stiffness_normal: float = 2e9
    stiffness_tangential: float = 2e9
    viscosity: float = 0.0
    bonding_rate: float = 100.0
    bonding_pressure: float = 0.0
    scaling: str = "physical"
    stick_speed: float = 0.02
    law = "rcc"

    def __post_init__(self):
        _positive("RccAdhesive", stiffness_normal=self.stiffness_normal, stiffness_tangential=self.stiffness_tangential,
                  bonding_rate=self.bonding_rate, stick_speed=self.stick_speed)  # fmt: skip
        _not_negative("RccAdhesive", work=self.work, viscosity=self.viscosity, bonding_pressure=self.bonding_pressure)
        if self.scaling not in ("physical", "paper"):
            raise ValueError(f"RccAdhesive.scaling is {self.scaling!r}; legal values: physical, paper")

    @classmethod
    def paper(cls, stiffness: float = 1.0) -> RccAdhesive:
        """Benchmark values of the paper: C_n = C_t, W = 1, eta = 100, gamma = 1, p_0 = 0."""
        return cls(1.0, stiffness, stiffness, 100.0, 1.0, 0.0, "paper")


@dataclass(frozen=True)
class BondAdhesive:
    """Releasable bonds: a spring a point, released in tension; see docs/physics/bonds.md.

    stiffness: kappa_b [Pa]; a bond's spring is kappa_b times the cell length [N/m]. break_force [N]: a point's bond
    holds up to this; or strength [Pa] (None = break_force rules): up to strength times the point's area. snap: the bond
    rests at half of dhat instead of where it was made. stick_speed: a point bonds only below this relative speed [m/s].
    """

    stiffness: float = 1e6
    break_force: float = 0.5
    strength: float | None = None
    snap: bool = False
    stick_speed: float = 0.02
    law = "bond"

    def __post_init__(self):
        _positive("BondAdhesive", stiffness=self.stiffness, break_force=self.break_force, stick_speed=self.stick_speed)
        if self.strength is not None:
            _positive("BondAdhesive", strength=self.strength)
