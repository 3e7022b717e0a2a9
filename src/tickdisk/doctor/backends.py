"""The check of the backends: which of them work on this machine, and why the others do not."""

from tickdisk.doctor.checks import Check, State
from tickdisk.foundation.machine import Machine


def backend_check(machine: Machine) -> Check:
    """Checks which backends work. It is `limited` if the first choice does not."""
    # The import is here because it fails without the native module, and the check has to report that.
    try:
        from tickdisk.device import BACKENDS, default_backend  # noqa: PLC0415
    except ImportError as error:
        return Check("backends", "missing", f"cannot be loaded ({error}): make setup")
    default, lacks = default_backend(machine), {name: backend.lacks(machine) for name, backend in BACKENDS.items()}
    other_backends = [
        f"{name} {'works' if lack is None else f'does not: {lack}'}"
        for name, lack in lacks.items()
        if name != default.name and BACKENDS[name].abilities.mounts
    ]
    state: State = "ok" if default.name == "fuse" else "limited"
    return Check("backends", state, "; ".join([f"{default.name} runs unless another is named", *other_backends]))
