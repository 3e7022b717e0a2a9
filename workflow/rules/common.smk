# Functions that rules call.


def hashes_of(experiment):
    """Returns the cells of an experiment, in running order."""
    return [cell.hash for cell in CELLS if cell.experiment == experiment]


def manifests_of(experiment):
    return [f"results/runs/{cell}/manifest.json" for cell in hashes_of(experiment)]


def previous_cell(wildcards):
    """Cells of an experiment run in the order of the plan."""
    manifests = manifests_of(PROJECT.cell(wildcards.cell).experiment)
    position = manifests.index(f"results/runs/{wildcards.cell}/manifest.json")
    return ancient(manifests[position - 1]) if position else []
