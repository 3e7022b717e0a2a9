# These functions and values are used by rules.


# All cores of this machine. On a cluster, a job gets the whole node or one core of it, as the profile says.
CORES = workflow.cores if NODES is None else 1


def parts_of(study):
    """Returns the numbers of the parts into which a study is divided on this cluster."""
    most = STUDIES[study].most_parts(getattr(SCALE, study))
    return range(1, min(NODES, most) + 1)


def hashes_of(experiment, servers=SERVERS):
    """Returns the cells of an experiment, in running order."""
    return [
        cell.hash
        for cell in CELLS
        if cell.experiment == experiment and cell.server in servers
    ]


def manifests_of(experiment, servers=SERVERS):
    return [
        f"results/runs/{cell}/manifest.json" for cell in hashes_of(experiment, servers)
    ]


def previous_cell(wildcards):
    """Cells of an experiment on a server run in the order of the plan. On a cluster, they run at the same time on several nodes."""
    if NODES is not None:
        return []
    cell = PROJECT.cell(wildcards.cell)
    manifests = manifests_of(cell.experiment, [cell.server])
    position = manifests.index(f"results/runs/{wildcards.cell}/manifest.json")
    return ancient(manifests[position - 1]) if position else []


# Where no device can be emulated, nothing is calibrated.
CALIBRATED = (
    ["results/calibration.json", "results/calibration/requests.parquet"]
    if "devices" not in LACKS
    else []
)


# The studies that do not run, as options of the commands that make the paper.
LEFT_OUT_OPTIONS = [
    f"--left-out {shlex.quote(f'{name}={reason}')}" for name, reason in LEFT_OUT.items()
]


# This command renders a notebook. papermill leaves a partial one when it fails, so it writes elsewhere, and a whole notebook is moved.
# The page of a notebook asks nothing of other hosts.
RENDER = (
    "(papermill {input.notebook} {params.folder}/rendered.ipynb --no-progress-bar --kernel python3"
    " {params.source} -p output {params.folder}"
    " && jupyter nbconvert --log-level WARN --to html --HTMLExporter.mathjax_url= --HTMLExporter.require_js_url="
    " --HTMLExporter.jupyter_widgets_base_url= --HTMLExporter.mermaid_js_url="
    " --output rendered.html {params.folder}/rendered.ipynb"
    " && mv {params.folder}/rendered.html {output.html}"
    " && mv {params.folder}/rendered.ipynb {output.notebook}"
    " && echo '{params.rendering} {params.asked}' > {output.made}) > {log} 2>&1"
)


def models_of(models):
    """Returns device models as a parameter, in which what is said about them does not count."""
    return json.dumps([model.as_dict() for model in models], sort_keys=True)


def machine_and_cores():
    """Returns the machine and the cores that the configuration gives to programs, as a parameter."""
    cores = PROJECT.config.cores
    return plain(host.machine()) if cores is None else plain([host.machine(), cores])


def load_limits():
    """Returns how loaded the machine may be when a device is measured."""
    limits = PROJECT.config.limits
    return [limits.steal_share, limits.pressure_memory_share]


def store_devices():
    """Returns the models of the devices that the study of the store uses."""
    store = SCALE.store
    names = [store.device, *(game.device for game in store.games)]
    return [device.named(name, project.DEVICES_PATH) for name in names]


def notebooks_of_this_run():
    """Returns the folders of notebooks that are of this plan and this code, and the names of all others."""

    def is_of_this_run(name):
        made = Path(f"results/notebooks/{name}/made.txt")
        own = f"{PROJECT.rendering(name)} {PROJECT.asked_digest(name)}"
        return made.exists() and made.read_text().strip() == own

    whole = [name for name in EVIDENCE if is_of_this_run(name)]
    return [f"results/notebooks/{name}" for name in whole], [
        name for name in EVIDENCE if name not in whole
    ]


def profile_of_cell(wildcards):
    """Returns the profile of the real disk for a cell beside it, and nothing for another cell. It counts as the calibration."""
    if PROJECT.cell(wildcards.cell).resolved.disk is None:
        return []
    path = str(PROJECT.disk.profile)
    exists = Path(f"results/runs/{wildcards.cell}/manifest.json").exists()
    return ancient(path) if exists else path


def calibration_of_cell(wildcards):
    """Returns the calibration, which is `ancient` only for a cell that exists. Another cell is run after a new calibration."""
    path = "results/calibration.json"
    exists = Path(f"results/runs/{wildcards.cell}/manifest.json").exists()
    return ancient(path) if exists else path
