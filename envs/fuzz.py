# ruff: noqa: INP001, S603
"""Fuzzes the readers of traces with inputs that coverage suggests: `python envs/fuzz.py SECONDS [FORMAT ...]`.

It builds `src/native/fuzz` with the coverage of LLVM, which the stable compiler has, and runs the fuzzer for some seconds on each
format. It begins with the seeds in `src/native/fuzz/seeds`. The fuzzer keeps in `build/fuzz` what it learns. An input that makes
a reader panic or hang is kept there as well, and the program then ends with code 1.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

_CRATE = Path("src/native/fuzz")
_BUILD = Path("build/fuzz")
_FLAGS = (
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
)
_LONGEST_BYTES, _SLOWEST_S, _MOST_MIB = 4096, 10, 2048


def main() -> int:
    """Builds the fuzzer, and runs it on each format that the command names, or on all."""
    seconds, names = float(sys.argv[1]), sys.argv[2:] or sorted(path.name for path in (_CRATE / "seeds").iterdir())
    if not shutil.which(compiler := os.environ.get("CXX", "c++")):
        print(f"fuzz: there is no C++ compiler ({compiler}), which libFuzzer needs; install the package g++", file=sys.stderr)
        return 1
    target = "x86_64-unknown-linux-gnu" if os.uname().machine == "x86_64" else f"{os.uname().machine}-unknown-linux-gnu"
    # With a target, the flags do not reach build scripts and macros, which would lack the fuzzer's functions.
    environment = {**os.environ, "RUSTFLAGS": " ".join(_FLAGS), "CARGO_TARGET_DIR": str(_BUILD.resolve() / "target")}
    words = ["cargo", "build", "--quiet", "--locked", "--release", "--target", target, f"--manifest-path={_CRATE / 'Cargo.toml'}"]
    if subprocess.run(words, env=environment, check=False).returncode:
        print("fuzz: the fuzzer was not built; the compiler's message is above", file=sys.stderr)
        return 1
    program = _BUILD / "target" / target / "release" / "readers"
    return max(_fuzz(program, name, seconds) for name in names)


def _fuzz(program: Path, name: str, seconds: float) -> int:
    learnt, found = _BUILD / "corpus" / name, _BUILD / "found"
    for folder in (learnt, found):
        folder.mkdir(parents=True, exist_ok=True)
    own = _BUILD / "seeds" / name
    own.mkdir(parents=True, exist_ok=True)
    (own / "seed").write_bytes((_CRATE / "seeds" / name).read_bytes())
    options = {
        "max_total_time": int(seconds),
        "max_len": _LONGEST_BYTES,
        "timeout": _SLOWEST_S,
        "rss_limit_mb": _MOST_MIB,
        "artifact_prefix": f"{found}/{name}-",
        "print_final_stats": 1,
        "verbosity": 0,
    }
    words = [str(program), *(f"-{key}={value}" for key, value in options.items()), str(learnt), str(own)]
    environment = {**os.environ, "TICKDISK_FORMAT": name}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, errors="replace", check=False)
    runs = next((line.split()[-1] for line in done.stderr.splitlines() if "number_of_executed_units" in line), "no")
    if done.returncode:
        print(done.stderr[-3000:], file=sys.stderr)
        print(f"fuzz: the reader of {name} failed after {runs} inputs; the input is in {found}", file=sys.stderr)
    else:
        print(f"fuzz: {name}: {runs} inputs, no failure")
    return int(bool(done.returncode))


if __name__ == "__main__":
    sys.exit(main())
