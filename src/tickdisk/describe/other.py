"""Files that stand alone, and objects that stand in several files."""

from tickdisk.describe.entry import DescribedTable, Entry, Section, blocks_of
from tickdisk.describe.keys import keys_of_class
from tickdisk.foundation.host import HostFacts, MachineLoad
from tickdisk.manifest import Capture
from tickdisk.project import TOOLCHAINS, Toolchains
from tickdisk.server import WorldFacts

_TOOLCHAINS = DescribedTable("The file is an object with these keys:", keys_of_class(Toolchains), {})

_HOST = DescribedTable("The object has these keys:", keys_of_class(HostFacts), {})

_LOAD = DescribedTable(
    "The object has these keys; a pressure is 0 where the kernel keeps no account of it:",
    keys_of_class(MachineLoad),
    {
        "seconds": "The length of the time.",
        "busy_share": "The share of the cores' time in which they worked.",
        "pressure_cpu_share": "The share of the time in which some task waited for a core.",
        "pressure_io_share": "The share of the time in which some task waited for storage.",
        "pressure_memory_share": "The share of the time in which some task waited for memory.",
    },
    {"seconds": "s"},
)

FILES = Section(
    "Other files",
    "These files are written by the set-up and by single commands.",
    (
        Entry("results/worlds/WORLD/world.json", "This file describes a generated world.", tuple(blocks_of(WorldFacts))),
        Entry(
            "CAPTURE/capture.json",
            "`tickdisk capture` writes this file into the folder that it is given. Beside it lie `requests.parquet`, "
            "`clocks.parquet` and, if bpftrace captured, `waits.parquet`, with the columns of a server life.",
            tuple(blocks_of(Capture, elsewhere=(HostFacts,))),
        ),
        Entry(
            str(TOOLCHAINS),
            "This file says from which sources and with which compilers the set-up built the programs.",
            (_TOOLCHAINS,),
        ),
    ),
)

HOST = Entry("Host", "Several files say on which machine they were made.", (_HOST,), is_file=False)
LOAD = Entry("Load", "A load tells how busy the machine was in some time.", (_LOAD,), is_file=False)
