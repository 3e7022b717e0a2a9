# Two commands: `make paper` and `make test`. Each sets up what is missing first.
PYTHON ?= python3
SCALE ?=
BLOCKS ?=
MINUTES ?= 15
# The project's environment and toolchains first; build/path is written by the set-up.
WITH_PATH = PATH="$$(cat build/path):$$PATH"

.DEFAULT_GOAL := help
.PHONY: help paper test test-guest setup doctor lab bench-checkpoint bench-device bench-model bench-profile bench-replay reference soak release-check lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

paper: setup ## everything: results/paper.pdf, results/index.html; SCALE=smoke|paper|full, BLOCKS=number of server lives and blocks
	@exec $(PYTHON) envs/paper.py "$(SCALE)" "$(BLOCKS)"

test: ## lint, types and tests of every language
	@$(PYTHON) envs/setup.py --tests
	@$(WITH_PATH) envs/checks

setup: ## install what is missing, build what changed
	@$(PYTHON) envs/setup.py

doctor: setup ## what this machine can do, and what to install for the rest
	@$(WITH_PATH) tickdisk doctor

bench-device: setup ## how faithful the emulated device is, over queue depths, beside nbdkit, in one run (20 minutes, 40 on a restless machine)
	@$(WITH_PATH) sh -ec 'mkdir -p build/bench; tickdisk plan --scale full --output build/bench/plan.json >/dev/null; tickdisk fidelity --strict --plan build/bench/plan.json --output build/bench/fidelity.json'

bench-model: setup ## requests a second that the device model completes in simulated time
	@$(WITH_PATH) python -m tickdisk.device.bench

test-guest: setup ## null_blk in a QEMU guest without KVM, with Debian's kernel (minutes; needs qemu-system-x86)
	@mkdir -p build/guest && cd build/guest && package=$$(LC_ALL=C apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -1) && \
		ls $$package*.deb >/dev/null 2>&1 || (apt-get -q download $$package && dpkg -x $$package*.deb .)
	@$(WITH_PATH) TICKDISK_GUEST="$(CURDIR)/build/guest" pytest -q tests/test_device_guest.py

lab: setup ## the notebooks in JupyterLab
	@$(WITH_PATH) jupyter lab --ServerApp.allow_root=True notebooks

bench-replay: setup ## how exactly requests are issued, beside fio and a loop in Python, in one run
	@$(WITH_PATH) python -m tickdisk.replay.bench

bench-profile: setup ## whether a profile behaves elsewhere as its disk does: of an emulated disk and this machine's, or DISK=path
	@$(WITH_PATH) python -m tickdisk.profile.bench $(if $(DISK),"$(DISK)")

reference: setup ## keeps the run in results/ as the reference of its scale, which other runs are compared with
	@$(WITH_PATH) tickdisk reference

soak: setup ## a device under random load that is verified, 128 requests in flight; MINUTES=15
	@$(WITH_PATH) python -m tickdisk.device.soak --minutes=$(MINUTES)

release-check: soak ## before a release, on a machine that does nothing else: the soak, 100 power cuts, a damaged store, crashed games
	@$(WITH_PATH) sh -ec 'TICKDISK_CUTS=100 pytest -rP tests/test_device_cut_files.py; TICKDISK_DAMAGES=84 pytest tests/test_store.py -k damage; rm -rf build/kills build/cuts; tickdisk checkpoint crash build/kills; tickdisk checkpoint crash --cuts --crashes 24 build/cuts'

bench-checkpoint: setup ## checkpoint recovery: updates a second in the simulator, and what each algorithm costs for real
	@$(WITH_PATH) sh -ec 'python -m tickdisk.checkpoint.bench; python -m tickdisk.store.bench'

lock: setup ## new versions into the lock files (needs uv)
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header envs/requirements.in -o envs/requirements.txt
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header envs/go.in -o envs/go.txt
	$(WITH_PATH) cargo update --manifest-path src/native/Cargo.toml
	$(WITH_PATH) go -C src/players get -u ./...
	$(WITH_PATH) go -C src/players mod tidy

clean: ## what the set-up built; results/ stays
	rm -rf .venv build src/native/target src/tickdisk/_native*.so .snakemake .mypy_cache .ruff_cache .pytest_cache .hypothesis
