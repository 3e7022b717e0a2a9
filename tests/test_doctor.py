"""The doctor looks at machines that a test describes in a folder."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tickdisk import calibrate
from tickdisk.calibrate import Calibration, DeviceResult, Reason
from tickdisk.cli.doctor import doctor
from tickdisk.doctor import Check, Machine, backend_check, checks, examine, load_check, render, tier_checks
from tickdisk.foundation import host
from tickdisk.rights import RIGHTS, lacking
from tickdisk.server import SERVERS

FILES = {
    "proc/cpuinfo": "processor\t: 0\n\nprocessor\t: 1\n",
    "proc/meminfo": "MemTotal:       8388608 kB\nMemFree: 1 kB\n",
    "proc/sys/kernel/osrelease": "6.1.0-test\n",
    "proc/self/mounts": "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
    "proc/self/status": "Name:\tpython\nCapEff:\t000001fffeffffff\n",
    "proc/filesystems": "nodev\tproc\n\text4\n\txfs\n\tbtrfs\n",
    "etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "dev/fuse": "",
    "dev/loop-control": "",
    "dev/loop0": "",
    "sys/block/loop0/size": "0",
    "dev/net/tun": "",
    "dev/cpu_dma_latency": "",
    "sys/kernel/btf/vmlinux": "",
    "sys/fs/cgroup/cgroup.procs": "",
    "sys/class/zram-control/hot_add": "",
    "sys/kernel/config/nullb/features": "",
    "usr/share/games/minetest/games/minetest_game": "",
    "dev/shm/there": "",
    "usr/lib/postgresql/15/bin/postgres": "",
    "home/build/tickdisk-players": "",
    "home/build/tickdisk-netcode": "",
    **{f"home/build/{kind.needs.built}": "" for kind in SERVERS.values() if kind.needs.built},
    "home/src/tickdisk/_native.abi3.so": "",
}
TOOLS = {
    "fio": "3.33",
    "minetestserver": "5.6.1",
    "go": "1.24.1",
    "cargo": "1.96.0",
    "bpftrace": "0.17.0",
    "strace": "6.1",
    "qemu-system-x86_64": "7.2.1",
    "rsync": "3.2.7",
    "mkfs.ext4": "1.47.0",
    "mkfs.xfs": "6.1.0",
    "mkfs.btrfs": "6.2.0",
    "ip": "6.1.0",
    "ethtool": "6.1",
    "nsenter": "2.38.1",
    "unshare": "2.38.1",
    "chrt": "2.38.1",
}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name, version in TOOLS.items():
        tool = tmp_path / "usr/bin" / name
        tool.parent.mkdir(exist_ok=True)
        tool.write_text(f"#!/bin/sh\necho {name} {version}\n")
        tool.chmod(0o755)
    return Machine(root=tmp_path, project=tmp_path / "home", user=0, folders=(tmp_path / "usr/bin",))


def by_name(machine: Machine) -> dict[str, Check]:
    return {check.name: check for check in examine(machine)}


def test_a_complete_machine_is_in_order(machine: Machine) -> None:
    checks = by_name(machine)
    assert {check.state for check in checks.values()} == {"ok"}
    assert not lacking(machine)
    assert checks["machine"].detail == "2 cores, 8.0 GiB memory, Linux 6.1.0-test, Debian GNU/Linux 12 (bookworm)"
    assert checks["fio"].detail == "3.33"
    assert checks["toolchains"].detail == "go 1.24.1, cargo 1.96.0"
    assert render(list(checks.values())).splitlines()[-1] == "`make paper` can run here"


def test_the_game_is_also_found_where_debian_13_has_it(machine: Machine) -> None:
    (machine.root / "usr/share/luanti").mkdir()
    (machine.root / "usr/share/games/minetest/games").rename(machine.root / "usr/share/luanti/games")
    assert by_name(machine)["Luanti server"].state == "ok"


@pytest.mark.parametrize(
    ("lost", "name", "state", "packages"),
    [
        ("dev/fuse", "/dev/fuse", "limited", ()),
        ("dev/loop-control", "loop devices", "limited", ()),
        ("dev/loop0", "loop devices", "limited", ()),
        ("dev/cpu_dma_latency", "idle cores", "limited", ()),
        ("usr/bin/chrt", "real time", "limited", ()),
        ("usr/bin/fio", "fio", "missing", ("fio",)),
        ("usr/bin/minetestserver", "Luanti server", "missing", ("minetest-server", "minetest-data")),
        ("usr/share/games/minetest/games/minetest_game", "Luanti server", "missing", ("minetest-server", "minetest-data")),
        ("usr/bin/mkfs.ext4", "file systems", "missing", ("e2fsprogs",)),
        ("usr/bin/mkfs.xfs", "file systems", "limited", ("xfsprogs",)),
        ("usr/bin/rsync", "rsync", "limited", ("rsync",)),
        ("home/build/tickdisk-players", "players", "missing", ()),
        ("home/build/tickdisk-dragonfly", "Dragonfly server", "limited", ()),
        ("home/build/tickdisk-netcode", "network stacks", "missing", ()),
        ("dev/net/tun", "networks", "limited", ()),
        ("usr/bin/ethtool", "network stacks", "missing", ("ethtool",)),
        ("home/src/tickdisk/_native.abi3.so", "native module", "missing", ()),
        ("usr/bin/strace", "tracing", "limited", ("strace",)),
        ("usr/bin/bpftrace", "tracing", "missing", ("bpftrace",)),
        ("sys/kernel/btf/vmlinux", "tracing", "missing", ()),
        ("proc/self/status", "BPF", "limited", ()),
        ("proc/self/mounts", "cgroup v2", "limited", ()),
        ("usr/bin/go", "toolchains", "limited", ()),
        ("usr/bin/qemu-system-x86_64", "guest", "limited", ("qemu-system-x86",)),
        ("usr/lib/postgresql/15/bin/postgres", "PostgreSQL", "limited", ("postgresql",)),
    ],
)
def test_what_is_lost_is_the_only_thing_reported(
    machine: Machine, lost: str, name: str, state: str, packages: tuple[str, ...]
) -> None:
    (machine.root / lost).unlink()
    if lost == "proc/self/status":
        (machine.root / lost).write_text("CapEff:\t00000000802405fb\n")
    troubled = [check for check in examine(machine) if check.state != "ok"]
    assert [(check.name, check.state, check.packages) for check in troubled] == [(name, state, packages)]
    screen = render(troubled)
    assert ("cannot run here: " + name in screen) == (state == "missing")
    assert not packages or f"apt-get install {' '.join(sorted(packages))}" in screen


@pytest.fixture
def without_rights(machine: Machine) -> Machine:
    """The machine as root sees it in a container of podman without arguments."""
    for name in ("fuse", "loop-control", "loop0", "cpu_dma_latency", "net/tun"):
        (machine.root / "dev" / name).unlink()
    for name in ("unshare", "chrt"):
        (machine.root / "usr/bin" / name).write_text("#!/bin/sh\nexit 1\n")
    (machine.root / "proc/self/status").write_text("CapEff:\t00000000800405fb\n")
    (machine.root / "proc/self/mounts").write_text("proc /proc proc rw 0 0\n")
    (machine.root / "run").mkdir()
    (machine.root / "run/.containerenv").touch()
    return machine


def test_a_container_without_rights_is_told_the_arguments(without_rights: Machine) -> None:
    limited = [check for check in examine(without_rights) if check.state != "ok"]
    assert {check.name: check.arguments for check in limited} == {right.name: right.arguments for right in RIGHTS}
    assert all(" ".join(check.arguments) in check.detail for check in limited)
    *_, given, verdict = render(limited).splitlines()
    assert given == "for all rights: podman run --privileged -v /dev:/dev -v /sys/fs/cgroup:/sys/fs/cgroup"
    assert verdict == "`make paper` can run here, without what needs mounts, /dev/fuse, networks, BPF, cgroup v2"
    assert "--cap-add SYS_NICE" in render([check for check in limited if check.name == "real time"])
    assert set(lacking(without_rights)) == {"devices", "networks", "captures"}
    assert "root may not mount here" in backend_check(without_rights).detail


@pytest.mark.parametrize(("mark", "takes_arguments"), [(".dockerenv", True), (".singularity.d", False), (None, False)])
def test_only_containers_that_take_arguments_are_told_them(
    without_rights: Machine, mark: str | None, takes_arguments: bool
) -> None:
    (without_rights.root / "run/.containerenv").unlink()
    if mark is not None:
        (without_rights.root / mark).touch()
    limited = [check for check in examine(without_rights) if check.state != "ok"]
    assert {bool(check.arguments) for check in limited} == {takes_arguments}
    assert ("modprobe fuse" in render(limited), "not tried" in render(limited)) == (mark is None, mark == ".singularity.d")


def test_an_argument_that_was_given_in_vain_is_not_named_again(without_rights: Machine) -> None:
    (without_rights.root / "proc/self/status").write_text(FILES["proc/self/status"])
    found = by_name(without_rights)["real time"]
    assert (found.state, found.arguments, "cpu.rt_runtime_us" in found.detail) == ("limited", (), True)


def test_rights_are_asked_of_root_only(without_rights: Machine) -> None:
    other = replace(without_rights, user=1000)
    assert not lacking(other)
    assert not {right.name for right in RIGHTS} & by_name(other).keys()


def test_little_room_in_memory_is_named(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "free_bytes", lambda folder: 60_000_000 if folder == machine.root / "dev/shm" else 0)
    check = by_name(machine)["/dev/shm"]
    assert check.state == "limited"
    assert check.detail.startswith("60 MB free: captures are written to a disk")
    assert "--shm-size=1g" in check.detail


def test_a_person_who_is_not_root_is_told(machine: Machine) -> None:
    other = Machine(root=machine.root, project=machine.project, user=1000, folders=machine.folders)
    assert [(check.name, check.packages) for check in examine(other) if check.state == "missing"] == [("root", ("sudo",))]
    (machine.root / "usr/bin/sudo").touch(0o755)
    assert [(check.name, check.state) for check in examine(other) if check.state != "ok"] == [("root", "limited")]


def test_another_processor_cannot_be_traced(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.uname", lambda: type("Uname", (), {"release": "6.1.0-test", "machine": "aarch64"}))
    assert "without x86_64 `make paper` cannot capture" in by_name(machine)["tracing"].detail


def test_a_version_beside_bytes_that_are_not_utf_8_is_read(machine: Machine, tmp_path: Path) -> None:
    tool = tmp_path / "odd"
    tool.write_text("#!/bin/sh\nprintf '\\377 1.2.3'\n")
    tool.chmod(0o755)
    assert machine.version(tool) == "1.2.3"


def test_a_file_that_is_not_executable_is_no_tool(machine: Machine) -> None:
    (machine.root / "usr/bin/fio").chmod(0o644)
    assert by_name(machine)["fio"].state == "missing"


def test_file_systems_may_be_modules(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.root / "proc/filesystems").write_text("nodev\tproc\n\text4\n")
    assert by_name(machine)["file systems"].detail == "ext4; without xfs (not in this kernel), btrfs (not in this kernel)"
    folder = machine.root / "lib/modules/6.1.0-test"
    folder.mkdir(parents=True)
    (folder / "modules.dep").write_text(
        "kernel/fs/xfs/xfs.ko.xz: kernel/lib/libcrc32c.ko.xz\nkernel/drivers/block/null_blk/null_blk.ko:\n"
    )
    monkeypatch.setattr("os.uname", lambda: type("Uname", (), {"release": "6.1.0-test", "machine": "x86_64"}))
    assert by_name(machine)["file systems"].detail == "ext4, xfs; without btrfs (not in this kernel)"
    shutil.rmtree(machine.root / "sys/kernel/config")
    assert "null_blk does not: null_blk is not loaded; run `modprobe null_blk" in backend_check(machine).detail


@pytest.mark.parametrize(
    ("lost", "state", "said"),
    [
        (None, "ok", "fuse runs unless another is named; tree works; zram works; null_blk works"),
        ("dev/loop-control", "limited", "tree runs unless another is named; fuse does not: /dev/loop-control cannot be opened"),
        ("dev/fuse", "limited", "simulated runs unless another is named; fuse does not: /dev/fuse cannot be opened"),
        ("sys/class/zram-control/hot_add", "ok", "zram does not: there is no /sys/class/zram-control"),
        ("sys/kernel/config/nullb/features", "ok", "null_blk does not: this kernel has no null_blk"),
    ],
)
def test_backends_that_work_and_the_one_that_runs(machine: Machine, lost: str | None, state: str, said: str) -> None:
    if lost is not None:
        (machine.root / lost).unlink()
        if not any((machine.root / lost).parent.iterdir()):
            (machine.root / lost).parent.rmdir()
    check = backend_check(machine)
    assert (check.state, said in check.detail) == (state, True), check.detail


def test_a_person_who_is_not_root_gets_a_tree(machine: Machine) -> None:
    other = Machine(root=machine.root, project=machine.project, user=1000, folders=machine.folders)
    assert "no fusermount3" in backend_check(other).detail
    helper = machine.root / "usr/bin/fusermount3"
    helper.touch(0o755)
    assert "no /etc/mtab, and fusermount3" in backend_check(other).detail
    (machine.root / "etc").mkdir(exist_ok=True)
    (machine.root / "etc/mtab").touch()
    assert backend_check(other).detail.startswith("tree runs unless another is named; fuse does not: it needs root")


@pytest.mark.parametrize("columns", [None, 72, 100, 200])
def test_rows_are_whole_in_a_file_and_wrapped_on_a_terminal(columns: int | None) -> None:
    checks = [
        Check("fine", "ok", "word " * 60),
        Check("lost", "missing", "word " * 60, ("b", "a")),
        Check("half", "limited", "x" * 30, ("b",)),
    ]
    lines = render(checks, columns).splitlines()
    assert " ".join(" ".join(lines).split()).count("word") == 120, "nothing is cut"
    assert sum(line.startswith(("ok       fine", "MISSING  lost", "limited  half")) for line in lines) == 3
    assert lines[-2:] == ["for the rest: apt-get install a b", "`make paper` cannot run here: lost"]
    if columns is None:
        assert len(lines) == 5
    else:
        assert max(map(len, lines)) <= columns


def devices(folder: Path) -> Path:
    path = folder / "devices.yaml"
    keys = "read_latency_ns: 1000, write_latency_ns: 1000, flush_latency_ns: 1000"
    tiers = "".join(f"{name}: {{tier: true, {keys}}}\n" for name in ("fast", "slow", "new"))
    path.write_text(f"{tiers}mine: {{{keys}}}\n")
    return path


def test_tiers_come_from_the_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "calibration.json"
    assert [check.state for check in tier_checks(devices(tmp_path), path)] == ["limited"]
    assert "not calibrated" in tier_checks(devices(tmp_path), path)[0].detail
    path.write_text("{")
    assert "not JSON" in tier_checks(devices(tmp_path), path)[0].detail
    base = DeviceResult.model_construct(name="", p50_ns=21_000, floor_limited=False, reasons=())
    fast = base.model_copy(
        update={"name": "fast", "floor_limited": True, "reasons": (Reason(job="", values="latency 1 us, reached 21 us"),)}
    )
    slow = base.model_copy(update={"name": "slow", "p50_ns": 6_000_000})
    measured = Calibration.model_construct(devices=[fast, slow])
    monkeypatch.setattr(calibrate, "load_calibration", lambda asked: {path: measured}[asked])
    assert [(check.name, check.detail) for check in tier_checks(devices(tmp_path), path)] == [
        ("tiers reached", "slow (6000 us); not calibrated: new"),
        ("floor-limited", "fast: latency 1 us, reached 21 us"),
    ]


def test_from_any_folder_the_command_looks_at_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer()
    app.command()(doctor)
    here = CliRunner().invoke(app)
    monkeypatch.chdir(tmp_path)
    elsewhere = CliRunner().invoke(app)
    assert elsewhere.exit_code == here.exit_code
    assert elsewhere.stdout.splitlines()[-1] == here.stdout.splitlines()[-1]


def test_a_kernel_without_pressure_accounts_is_said_to_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "keeps_pressure", lambda: True)
    assert "CPU pressure" in load_check(0.01).detail
    monkeypatch.setattr(host, "keeps_pressure", lambda: False)
    found = load_check(0.01)
    assert (found.state, "CPU pressure" in found.detail) == ("limited", False)
    assert "boot with psi=1" in found.detail
