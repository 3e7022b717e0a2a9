"""The checks of the tiers: which of them this machine reaches, according to its calibration."""

from pathlib import Path

from tickdisk.doctor.checks import Check
from tickdisk.foundation.errors import TickdiskError


def tier_checks(devices: Path, calibration: Path) -> list[Check]:
    """Returns one check of all tiers that this machine reaches by its calibration, and one of each that is floor-limited.

    A floor-limited tier is faster than this machine can emulate. The file `calibration` need not exist. Raises TickdiskError if
    `devices` is not a valid file of devices.
    """
    if not devices.exists():
        return [Check("device tiers", "missing", f"no {devices}: cd to the project's folder")]
    # The imports are here because they fail without the native module, and the check has to report that.
    try:
        from tickdisk.calibrate import load_calibration  # noqa: PLC0415
        from tickdisk.device import load_devices  # noqa: PLC0415
    except ImportError as error:
        return [Check("device tiers", "missing", f"cannot be loaded ({error}): make setup")]
    names = [name for name, model in load_devices(devices).items() if model.tier]
    if not calibration.exists():
        advice = "not calibrated; run `snakemake --cores all results/calibration.json` in the project's folder"
        return [Check("device tiers", "limited", f"{', '.join(names)}: {advice}")]
    try:
        measured = {device.name: device for device in load_calibration(calibration).devices}
    except TickdiskError as error:
        return [Check("device tiers", "limited", str(error))]
    reached = [
        f"{name} ({measured[name].p50_ns / 1000:.0f} us)"
        for name in names
        if name in measured and not measured[name].floor_limited
    ]
    unknown = [name for name in names if name not in measured]
    rest = f"; not calibrated: {', '.join(unknown)}" if unknown else ""
    return [
        Check("tiers reached", "ok" if reached else "limited", (", ".join(reached) or "none") + rest),
        *(
            Check("floor-limited", "limited", f"{name}: {'; '.join(reason.sentence for reason in measured[name].reasons)}")
            for name in names
            if name in measured and measured[name].floor_limited
        ),
    ]
