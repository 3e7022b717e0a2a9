"""Which backends of a device work here, why the others do not, and which one runs."""

from tickdisk.doctor.checks import Check, State
from tickdisk.machine import Machine


def backend_check(machine: Machine) -> Check:
    """Returns a check of every backend: `limited` where not the first choice runs, `missing` where none can be mounted."""
    # Imported here: without the native module this room does not load, and that is one of the things to report.
    try:
        from tickdisk.device import BACKENDS, default_backend  # noqa: PLC0415
    except ImportError as error:
        return Check("backends", "missing", f"cannot be loaded ({error}): make setup")
    chosen, lacks = default_backend(machine), {name: backend.lacks(machine) for name, backend in BACKENDS.items()}
    others = [
        f"{name} {'works' if lack is None else f'does not: {lack}'}"
        for name, lack in lacks.items()
        if name != chosen.name and BACKENDS[name].abilities.mounts
    ]
    state: State = "ok" if chosen.name == "fuse" else "limited" if chosen.abilities.mounts else "missing"
    return Check("backends", state, "; ".join([f"{chosen.name} runs unless another is named", *others]))
