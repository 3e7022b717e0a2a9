# `make paper` and `make test` are the two main commands. Each sets up what is missing first.
PYTHON ?= python3
SCALE ?=
BLOCKS ?=
STUDY ?=
DISK ?=
# A shell may have a variable NAME of its own, so that only the command line gives this one.
NAME =
MINUTES ?= 15
# The set-up writes build/path, which puts the project's environment and toolchains first.
WITH_PATH = PATH="$$(cat build/path):$$PATH"

.DEFAULT_GOAL := help
.PHONY: help paper test check test-cluster test-guest setup operator doctor lab bench-checkpoint bench-device bench-model bench-profile bench-replay bench-trace reference soak release-check artifact lock clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

paper: setup ## make everything: results/paper.pdf, results/companion.pdf, results/index.html; SCALE=smoke|paper|full, BLOCKS=number of server lives and blocks, STUDY=name of the only study, DISK=folder on a real disk for STUDY=twin, NAME=name of that disk
	@exec $(PYTHON) envs/paper.py "$(SCALE)" "$(BLOCKS)" "$(STUDY)" "$(DISK)" "$(NAME)"

test: ## check lint, types and tests of every language
	@$(PYTHON) envs/setup.py --test
	@$(WITH_PATH) python envs/checks.py test

check: ## check what changed since the last success: lint, types, and the tests that it can break (3 minutes at the most)
	@$(PYTHON) envs/setup.py --test
	@$(WITH_PATH) python envs/checks.py check

setup: ## install what is missing, build what changed
	@$(PYTHON) envs/setup.py

operator: ## install only what `tickdisk check`, `watch`, `capture`, `blame` and `replay` need beside a running server
	@$(PYTHON) envs/setup.py --operator

doctor: setup ## say what this machine can do, and what to install for the rest
	@$(WITH_PATH) tickdisk doctor

bench-device: setup ## measure how faithful the emulated device is over queue depths, beside nbdkit (20 minutes, 40 on a busy machine)
	@$(WITH_PATH) sh -ec 'mkdir -p build/bench; rm -f build/bench/plan.json build/bench/fidelity.json; tickdisk plan --scale full --output build/bench/plan.json >/dev/null; tickdisk fidelity --strict --plan build/bench/plan.json --output build/bench/fidelity.json'

bench-model: setup ## measure how many requests per second the device model completes in simulated time
	@$(WITH_PATH) python -m benchmarks.device_model

test-guest: setup ## test null_blk in a QEMU guest with Debian's kernel (minutes; needs qemu-system-x86)
	@mkdir -p build/guest && cd build/guest && package=$$(LC_ALL=C apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -1) && \
		ls $$package*.deb >/dev/null 2>&1 || (apt-get -q download $$package && dpkg -x $$package*.deb .)
	@$(WITH_PATH) TICKDISK_GUEST="$(CURDIR)/build/guest" pytest -q tests/test_device_guest.py

test-cluster: ## test the profile for Slurm on two virtual nodes of this machine (15 minutes; needs root, and a machine without Slurm)
	@$(PYTHON) envs/setup.py --test --cluster
	@$(WITH_PATH) TICKDISK_CLUSTER=1 pytest -rP tests/test_cluster.py

lab: setup ## open the notebooks in JupyterLab
	@$(WITH_PATH) sh envs/launcher jupyter lab --ServerApp.allow_root=True notebooks

bench-replay: setup ## measure how exactly a replay issues requests, beside fio and a loop in Python
	@$(WITH_PATH) python -m benchmarks.replay_lag

bench-trace: setup ## measure how fast traces are read, beside readers in Python, how much memory a long one takes, and how fast pools are (5 minutes)
	@$(WITH_PATH) sh -ec 'python -m benchmarks.trace_readers; python -m benchmarks.pools'

bench-profile: setup ## compare profiles of an emulated disk and of this machine's disk, or DISK=path, with their disks (45 to 90 minutes)
	@$(WITH_PATH) python -m benchmarks.emulated_profile $(if $(DISK),"$(DISK)")

reference: setup ## keep the run in results/ as the reference of its scale, with which other runs are compared
	@$(WITH_PATH) tickdisk reference

soak: setup ## load a device with 128 random requests in flight, and verify what it reads; MINUTES=15
	@$(WITH_PATH) python -m benchmarks.soak --minutes=$(MINUTES)

release-check: soak ## run before a release, on a quiet machine: soak, half an hour of fuzzing, 100 power cuts, damaged stores, crashed games, wrong calls
	@$(PYTHON) envs/setup.py --test
	@$(WITH_PATH) python envs/fuzz.py 180
	@$(WITH_PATH) sh -ec 'TICKDISK_CUTS=100 pytest -rP tests/test_device_cut_files.py; TICKDISK_DAMAGES=84 pytest tests/test_store.py -k damage; TICKDISK_CALLS=0 pytest tests/test_nonsense.py; TICKDISK_RELEASE=1 pytest $$(grep -l for_release tests/test_*.py); TICKDISK_POSITIONS=10000 pytest -rP tests/test_trace_positions.py; rm -rf build/kills build/cuts; tickdisk checkpoint crash build/kills; tickdisk checkpoint crash --cuts --crashes 24 build/cuts'

bench-checkpoint: setup ## measure checkpoint recovery: updates per second in the simulator, and the real cost of each algorithm
	@$(WITH_PATH) sh -ec 'python -m benchmarks.checkpoint_simulator; python -m benchmarks.checkpoint_algorithms'

artifact: setup ## write build/artifact/tickdisk-COMMIT.tar.gz, with which the paper can be computed again without a network
	@$(WITH_PATH) python envs/artifact.py

lock: setup ## renew the versions in the lock files (needs uv)
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header envs/requirements.in -o envs/requirements.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header envs/operator.in -c envs/requirements.txt -o envs/operator.txt
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header envs/validator.in -o envs/validator.txt
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-deps envs/axe.in -o envs/axe.txt
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header envs/go.in -o envs/go.txt
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header envs/java.in -o envs/java.txt
	rm -rf build/lock && mvn -B -q -f src/servers/minestom/pom.xml org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$(CURDIR)/build/lock"
	cd build/lock && sha256sum *.jar >"$(CURDIR)/envs/minestom.txt"
	$(WITH_PATH) cargo update --manifest-path src/native/Cargo.toml
	$(WITH_PATH) sh -ec 'for module in src/players src/players/bedrock src/players/java src/servers/dragonfly; do go -C $$module get -u ./...; go -C $$module mod tidy; done'

clean: ## remove what the set-up built; results/ stays
	rm -rf .venv build src/native/target src/netcode/target src/tickdisk/_native*.so .snakemake .mypy_cache .ruff_cache .pytest_cache .hypothesis
