"""Leases on work in a shared folder, with holders on this machine, in another pid namespace, and on machines that are made up."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tickdisk import project
from tickdisk.foundation import lease, record
from tickdisk.foundation.errors import TickdiskError

HOLDS = """
import sys, time
from pathlib import Path
from tickdisk.foundation import lease
lease.RENEWAL_S = 0.1
lease.hold(Path(sys.argv[1]), "work")
print("held", flush=True)
time.sleep(60)
"""


@contextmanager
def holder(folder: Path, *before: str) -> Iterator[subprocess.Popen[str]]:
    command = [*before, sys.executable, "-c", HOLDS, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob(".*.lease"))


def elsewhere(folder: Path, name: str, age_s: float) -> Path:
    """Writes the lease of a process on another machine, which was renewed some time ago."""
    path = folder / f".{name}.0.lease"
    record.write(path, lease.Holder.this_process().model_copy(update={"boot_id": "another", "host": "node7"}))
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def test_a_killed_holder_is_dead_at_once_and_its_file_is_removed(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        own = lease.hold(tmp_path, "work")
        (other,) = own.others()
        assert other.holder.process.pid == process.pid
        process.kill()
        process.wait()
        assert own.others() == []
    assert files(tmp_path) == [own.path]
    own.give_back()
    assert files(tmp_path) == []


def test_a_revoked_holder_ends_and_says_why(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        own = lease.hold(tmp_path, "work")
        (ended,) = own.revoke_others()
        assert ended.process.pid == process.pid
        assert process.wait(10) < 0
        assert process.stderr is not None
        assert process.stderr.read() == f"the lease on work in {tmp_path} was taken away, so this process ends\n"
    own.give_back()


def test_leases_on_other_work_do_not_count(tmp_path: Path) -> None:
    own, other = lease.hold(tmp_path, "work"), lease.hold(tmp_path, "workshop")
    assert own.others() == []
    own.give_back()
    other.give_back()


def test_a_lease_that_was_given_back_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEWAL_S", 0.05)
    revoked: list[bool] = []
    lease.hold(tmp_path, "work", lambda: revoked.append(True)).give_back()
    taken = lease.hold(tmp_path, "work", lambda: revoked.append(True))
    time.sleep(0.3)
    assert not revoked
    taken.path.unlink()
    for _ in range(100):
        if revoked:
            break
        time.sleep(0.05)
    assert revoked == [True]


@pytest.mark.parametrize("age_s", [0, lease.DEAD_S - 20])
def test_a_holder_on_another_machine_lives_while_it_renews(tmp_path: Path, age_s: float) -> None:
    elsewhere(tmp_path, "claim", age_s)
    with pytest.raises(TickdiskError, match=re.escape(f"another run (process {os.getpid()} on node7) works in {tmp_path}")):
        project.claim(tmp_path)
    assert len(files(tmp_path)) == 1


def test_a_holder_on_another_machine_is_dead_when_it_does_not_renew(tmp_path: Path) -> None:
    left = elsewhere(tmp_path, "claim", lease.DEAD_S + 20)
    own = project.claim(tmp_path)
    assert not left.exists()
    assert files(tmp_path) == [own.path]
    own.give_back()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a pid namespace")
def test_a_holder_whose_pid_means_nothing_here_is_judged_by_its_renewals(tmp_path: Path) -> None:
    with holder(tmp_path, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "unchanged"):
        own = lease.hold(tmp_path, "work")
        (other,) = own.others()
        assert not other.holder.is_visible
        os.utime(other.path, (time.time() - lease.DEAD_S - 20,) * 2)
        time.sleep(0.5)  # It renews every tenth of a second.
        assert own.others() != []
    own.give_back()
