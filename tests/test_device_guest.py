"""null_blk in a QEMU guest without KVM, where this machine's kernel has none: what it does, never how fast.

Slow, some minutes, so only with TICKDISK_GUEST: a folder with boot/vmlinuz-* and lib/modules of Debian's linux-image package
(`apt-get download`, `dpkg -x`), or `/` where that is installed. `make test-guest` does all that.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

GUEST = os.environ.get("TICKDISK_GUEST")
QEMU = shutil.which("qemu-system-x86_64")
LIMIT_S = 1500
LEAST_TESTS = 8
ROOT = Path(__file__).parent.parent
MODULES = (
    *("virtio", "virtio_ring", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "netfs", "fscache", "9pnet"),
    *("9pnet_virtio", "9p", "configfs", "null_blk", "crc16", "crc32c_generic", "libcrc32c", "mbcache", "jbd2", "ext4", "fuse"),
    *(
        "loop",
        "xfs",
        "xor",
        "raid6_pq",
        "zstd_compress",
        "zlib_deflate",
        "lzo_compress",
        "blake2b_generic",
        "xxhash_generic",
        "btrfs",
    ),
)
pytestmark = pytest.mark.skipif(GUEST is None or QEMU is None, reason="needs TICKDISK_GUEST and qemu-system-x86_64")


def archive(files: dict[str, tuple[int, bytes]]) -> bytes:
    """A cpio archive in the new ASCII format (cpio(5)) of paths with mode and content."""
    parts = []
    for number, (name, (mode, content)) in enumerate([*files.items(), ("TRAILER!!!", (0, b""))], start=1):
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        parts += [head, bytes(-len(head) % 4), content, bytes(-len(content) % 4)]
    return b"".join(parts)


def test_an_archive_is_what_cpio_reads(tmp_path: Path) -> None:
    if shutil.which("cpio") is None:
        pytest.skip("no cpio to read it")
    packed = archive({"a": (0o100644, b"tick"), "b": (0o100755, b"")})
    subprocess.run(["cpio", "-id", "--quiet"], input=packed, cwd=tmp_path, check=True)
    assert (tmp_path / "a").read_bytes() == b"tick"


def test_null_blk_does_in_a_guest_what_its_tests_say(tmp_path: Path) -> None:
    assert GUEST is not None
    assert QEMU is not None
    kernel = max((Path(GUEST) / "boot").glob("vmlinuz-*"))
    folder = Path(GUEST) / "lib/modules" / kernel.name.removeprefix("vmlinuz-")
    found = {path.stem.replace("-", "_"): path for path in folder.rglob("*.ko")}
    init = tmp_path / "init"
    subprocess.run(["gcc", "-static", "-O1", "-o", init, Path(__file__).with_name("guest_init.c")], check=True)
    names = [name for name in MODULES if name in found]
    command = (
        f"cd {ROOT} && PYTHONDONTWRITEBYTECODE=1 {sys.executable} -m pytest -p no:cacheprovider -q --color=no -rA -x -k null_blk "
        "--basetemp=/tmp/pytest tests/test_device_kernel_live.py tests/test_calibrate_fidelity.py"
    )
    files = {
        "init": (0o100755, init.read_bytes()),
        "command.txt": (0o100644, command.encode()),
        "modules.txt": (0o100644, "".join(f"/{name}.ko\n" for name in names).encode()),
        **{f"{name}.ko": (0o100644, found[name].read_bytes()) for name in names},
    }
    (tmp_path / "initrd").write_bytes(archive(files))
    machine = "-accel tcg,thread=multi -cpu max -smp 2 -m 3072 -nographic -no-reboot -nodefaults -serial stdio"
    share = "-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"
    boot = ["-kernel", kernel, "-initrd", tmp_path / "initrd", "-append", "console=ttyS0 panic=-1 quiet mitigations=off"]
    with (tmp_path / "console").open("wb") as console:
        done = subprocess.run(
            [QEMU, *machine.split(), *share.split(), *boot],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            timeout=LIMIT_S,
            check=False,
        )
    said = (tmp_path / "console").read_text(errors="replace")
    assert done.returncode == 0, said
    assert "guest: exit code 0" in said, said
    outcomes = Counter(re.findall(r"^(PASSED|SKIPPED|FAILED|ERROR)\b", said, re.MULTILINE))
    assert outcomes.keys() == {"PASSED"}, said
    assert outcomes["PASSED"] >= LEAST_TESTS, said
