"""The machines that Google's command line can ask Colab for, and what their devices call themselves.

Names and flags are those of google-colab-cli 0.7.5, which takes an unknown GPU for an A100 and an unknown TPU for a
v6e-1; so nothing else is passed on. Prices and figures stand in `generator.accelerators`.
"""

from dataclasses import dataclass

from generator.accelerators.catalog import AcceleratorKind
from generator.colab.errors import ColabError
from generator.errors import did_you_mean
from generator.untrusted import printable


@dataclass(frozen=True)
class Machine:
    """A kind of machine.

    Attributes:
        name: What the command line calls it, and `colab sessions` in upper case.
        kind: What computes.
        signs: Any of these is part of the name that its device gives itself.
        in_catalog: Its name in the catalog of accelerators.
        has_shapes: Whether it comes with much memory as well; the others have one shape, which has.
    """

    name: str
    kind: AcceleratorKind
    signs: tuple[str, ...]
    in_catalog: str
    has_shapes: bool = True

    @property
    def options(self) -> list[str]:
        """The options of `colab new` for it."""
        return [] if self.kind is AcceleratorKind.CPU else [f"--{self.kind}", self.name]

    def is_device(self, platform: str, device: str) -> bool:
        """True if a device may be that of this machine, by its platform and the name that it gives itself."""
        known = next((each for each in MACHINES if any(sign in device.lower() for sign in each.signs)), None)
        return platform == self.kind and known in (None, self)


MACHINES = (
    Machine("CPU", AcceleratorKind.CPU, (), "CPU"),
    Machine("T4", AcceleratorKind.GPU, ("tesla t4", "nvidia t4"), "T4"),
    Machine("L4", AcceleratorKind.GPU, ("nvidia l4",), "L4", has_shapes=False),
    Machine("G4", AcceleratorKind.GPU, ("rtx pro 6000",), "G4"),
    Machine("A100", AcceleratorKind.GPU, ("a100",), "A100"),
    Machine("H100", AcceleratorKind.GPU, ("h100",), "H100"),
    Machine("v5e1", AcceleratorKind.TPU, ("v5 lite", "v5e", "v5litepod"), "TPU v5e-1", has_shapes=False),
    Machine("v6e1", AcceleratorKind.TPU, ("v6 lite", "v6e"), "TPU v6e-1", has_shapes=False),
)


def machine_named(name: str) -> Machine:
    """The machine of a name, in upper or lower case.

    Raises:
        ColabError: There is none.
    """
    for machine in MACHINES:
        if machine.name.lower() == name.lower():
            return machine
    names = [machine.name for machine in MACHINES]
    raise ColabError(f'Colab has no "{printable(name)}": choose {", ".join(names)}.{did_you_mean(name, names)}')


def usual_machine(kind: AcceleratorKind) -> Machine:
    """The machine for a pair that trains on this kind of device: the first one, which costs least."""
    return next(machine for machine in MACHINES if machine.kind is kind)
