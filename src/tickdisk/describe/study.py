"""The files of studies that have no server lives of their own: replay, cost of a capture, and saving a game's state."""

from tickdisk.describe.entry import DescribedTable, Entry, Section, blocks_of, table_entry, written
from tickdisk.describe.keys import keys_of_class
from tickdisk.device import DeviceModel
from tickdisk.foundation.host import HostFacts, MachineLoad
from tickdisk.foundation.table import SCHEMAS
from tickdisk.replay import Replays, Spread
from tickdisk.saving.store import Calibrated

_SPREAD = DescribedTable(
    "Each of `lag_ns`, `lag_first_tenth_ns`, `lag_last_tenth_ns`, `lost_ns` and `service_ns` has these keys:",
    keys_of_class(Spread),
    {},
)

_REPLAY_TABLE = written(
    "",
    {
        "seq": ("int64", "The number of the request, as in the capture."),
        "thread": ("int64", "The number of the captured thread, which is a stream of the replay."),
        "thread_name": ("string", "The name of the captured thread."),
        "op": ("string", "The kind of request, as in `requests.parquet`."),
        "call": ("string", "The name of the system call."),
        "file": ("string", "The path of the file in the folder that is replayed."),
        "offset": ("int64", "The place in the file."),
        "length": ("int64", "The number of bytes that were asked for."),
        "due_ns": ("int64", "The time at which the request was due."),
        "issued_ns": ("int64", "The time at which the request was made."),
        "completed_ns": ("int64", "The time at which the request was completed."),
        "result": (
            "int64",
            "The result: the number of bytes of a read or write, 0 for another call, or the negative number of the error.",
        ),
        "expected": ("int64", "The captured result, in the same form."),
        "captured_ns": ("int64 or null", "The time that the captured request took. It is null if the trace does not tell it."),
        "lag_ns": (
            "int64 or null",
            (
                "The time by which the tool made the request late, from the due time or from the completion of the request "
                "before it in its stream, if that was later. It is null where the tool does not tell it."
            ),
        ),
        "lost_ns": (
            "int64 or null",
            (
                "The time by which the request before it in its stream was completed after the due time of this one. It is "
                "null where the tool does not tell it."
            ),
        ),
    },
    {"offset": "B", "length": "B"},
)

_MICRO = table_entry(
    "results/capture_micro.parquet",
    "Each row is a run of a program that only reads from memory, under one tool or under none.",
    SCHEMAS["micro"],
    {
        "round": "The number of the round, in which every tool has one turn; the first is 0.",
        "tool": "The tool that captured: bpftrace, strace, strace_positioned or none.",
        "preads": "The number of reads that the program made.",
        "ns_per_pread": "The time that the program took for each read.",
        "events": "The number of reads that the tool captured.",
        "lost_events": "The number of events that did not arrive from the kernel.",
    },
    {"preads": "reads", "ns_per_pread": "ns", "events": "reads", "lost_events": "events"},
)

_ALGORITHM = "The name of the algorithm that saves the state."

_SWEEP_RUNS = written(
    "",
    {
        "run": ("int64", "The number of the simulated run. A run that belongs to two sweeps has two rows."),
        "sweep": ("string", "The sweep that the row belongs to: rate, skew, anchor, game or readings."),
        "reading": (
            "string",
            "The reading of the published cost model: `as stated`, or the name of one thing that is read otherwise.",
        ),
        "rate": ("float64", "The updates per tick that were asked for. It is null for the game."),
        "skew": ("float64", "The skew of the Zipf distribution of the updates. It is null for the game."),
        "updates_per_tick": ("float64", "The updates per tick that were made."),
        "algorithm": ("string", _ALGORITHM),
        "ticks": ("int64", "The number of ticks."),
        "overhead_ms": ("float64", "The mean time that was added to a tick."),
        "longest_ms": ("float64", "The longest time that was added to a tick."),
        "checkpoint_s": ("float64", "The mean time of a checkpoint. It is null if none was completed."),
        "recovery_s": ("float64", "The mean time of a recovery. It is null if no checkpoint was completed."),
        "checkpoints": ("int64", "The number of completed checkpoints."),
        "pause_ms": ("float64", "The mean pause at the beginning of a checkpoint."),
        "objects": ("float64", "The mean number of objects that a checkpoint wrote."),
        "bytes": ("float64", "The mean number of bytes that a checkpoint wrote."),
        "copied": ("float64", "The mean number of objects that were copied in memory for a checkpoint."),
        "updates_per_s": ("float64", "The updates that the simulator made in a second of processor time."),
    },
    {
        "rate": "updates/tick",
        "updates_per_tick": "updates/tick",
        "ticks": "ticks",
        "checkpoints": "checkpoints",
        "objects": "objects",
        "copied": "objects",
        "updates_per_s": "updates/s",
    },
)

_SWEEP_TICKS = written(
    "",
    {
        "tick": ("int64", "The number of the tick; the first is 0."),
        "overhead_ms": ("float64", "The time that was added to the tick."),
        "length_ms": ("float64", "The length of the tick with that time."),
        "run": ("int64", "The number of the simulated run, as in `runs.parquet`."),
    },
)

_SWEEP_CHECKPOINTS = written(
    "",
    {
        "tick": ("int64", "The number of the tick at whose end the checkpoint began."),
        "begin_s": ("float64", "The simulated time at which the checkpoint began."),
        "end_s": ("float64", "The simulated time at which the checkpoint ended."),
        "pause_ms": ("float64", "The pause at the beginning of the checkpoint."),
        "objects": ("int64", "The number of objects that were written."),
        "bytes": ("int64", "The number of bytes that were written."),
        "copied": ("int64", "The number of objects that were copied in memory."),
        "is_full": ("bool", "Whether the checkpoint holds the whole state."),
        "recovery_s": ("float64", "The time of a recovery after a crash at the end of the checkpoint."),
        "run": ("int64", "The number of the simulated run, as in `runs.parquet`."),
    },
    {"objects": "objects", "copied": "objects"},
)

_TRIAL = {
    "rate": ("int64", "The updates per tick."),
    "life": ("int64", "The number of the life among those of the same algorithm and rate; the first is 0."),
    "algorithm": ("string", _ALGORITHM),
    "ticks": ("int64", "The number of ticks that are counted."),
    "whole": ("int64", "The number of checkpoints in these ticks."),
    "added_ms": ("float64", "The mean time that keeping the state added to a tick: `own_ms` and `beside_ms` together."),
    "own_ms": (
        "float64",
        "The part of it that the algorithm spent: its updates and pauses less the same updates on a state that nobody keeps.",
    ),
    "beside_ms": (
        "float64",
        "The part of it by which updates of a state that nobody keeps took longer while checkpoints were written.",
    ),
    "slower": (
        "float64",
        "The share by which updates of a state that nobody keeps took longer in ticks that began during a checkpoint.",
    ),
    "null_ms": (
        "float64",
        (
            "The time by which the updates of the algorithm took longer than those of a state that nobody keeps, without "
            "a checkpoint."
        ),
    ),
    "longest_ms": ("float64", "The longest time that was added to a tick."),
    "pause_ms": ("float64", "The longest pause at the beginning of a checkpoint."),
    "bare_ms": ("float64", "The mean time of the updates of a tick on a state that nobody keeps, without a checkpoint."),
    "checkpoint_s": ("float64", "The mean time of a checkpoint."),
    "objects": ("float64", "The mean number of objects that a checkpoint wrote."),
    "bytes": ("float64", "The mean number of bytes that a checkpoint wrote."),
    "pass_ns": ("float64", "The mean time for an object until the writer had handed it to the page cache."),
    "recovery_s": ("float64", "The time of the recovery after the end of the life, with a cold page cache."),
    "memory_bytes": ("int64", "The highest memory of the process, without the state that nobody keeps."),
}
_TRIAL_UNITS = {
    "rate": "updates/tick",
    "ticks": "ticks",
    "whole": "checkpoints",
    "slower": "share",
    "objects": "objects",
}
_LIFE = "Each row is a real life of a state under one algorithm, which"
_MORE = "The table has the columns of `fitted.parquet`, and then these:"

_TESTED = {
    "model_ms": (
        "float64",
        "The time added to a tick by the published cost model. It is null for an algorithm that the model does not know.",
    ),
    "calibrated_ms": (
        "float64",
        "The time added to a tick by the calibrated cost model. It is null for an algorithm that the model does not know.",
    ),
    "model_s": (
        "float64",
        "The time of a checkpoint by the published cost model. It is null for an algorithm that the model does not know.",
    ),
    "calibrated_s": (
        "float64",
        "The time of a checkpoint by the calibrated cost model. It is null for an algorithm that the model does not know.",
    ),
}

_GAMES = {
    "game": ("string", "The name of the game."),
    "state_bytes": ("int64", "The size of the state."),
    "skew": ("float64", "The skew of the Zipf distribution of the updates."),
    "device": ("string", "The name of the device model."),
    "tick_hz": ("float64", "The ticks per second."),
}

REPLAY = Section(
    "The replay of captured requests",
    "The first captured life of the study of storage accesses is replayed on other devices.",
    (
        Entry(
            "results/replay/replay.json",
            "This file sums up the replays.",
            (*blocks_of(Replays, elsewhere=(HostFacts, MachineLoad, DeviceModel, Spread)), _SPREAD),
        ),
        Entry(
            "results/replay/TOOL_DEVICE.parquet",
            "Each row is a request that was made again. `tickdisk replay --output` writes the same table.",
            (_REPLAY_TABLE,),
        ),
    ),
)

MICRO = Section("The cost of a capture", "Captures also run on a program that does nothing else.", (_MICRO,))

CHECKPOINT = Section(
    "The simulation of saving",
    "Six algorithms that save a game's state run in a simulator under a published cost model. Times are simulated.",
    (
        Entry("results/checkpoint/runs.parquet", "Each row is a simulated run in one of its sweeps.", (_SWEEP_RUNS,)),
        Entry("results/checkpoint/ticks.parquet", "Each row is a tick of a run with the reading `as stated`.", (_SWEEP_TICKS,)),
        Entry(
            "results/checkpoint/checkpoints.parquet",
            "Each row is a completed checkpoint of a run with the reading `as stated`.",
            (_SWEEP_CHECKPOINTS,),
        ),
    ),
)

STORE = Section(
    "Saving for real",
    "The same six algorithms and six later ones keep a state on emulated devices. `tickdisk checkpoint compare "
    "--output` writes the same files, but for the games.",
    (
        Entry(
            "results/store/fitted.parquet",
            f"{_LIFE} the cost model was fitted to. A value is null where too few checkpoints fitted into the life.",
            (written("", _TRIAL, _TRIAL_UNITS),),
        ),
        Entry(
            "results/store/tested.parquet",
            f"{_LIFE} the cost model was tested on.",
            (written(_MORE, _TESTED),),
        ),
        Entry(
            "results/store/games.parquet",
            f"{_LIFE} played one of several games.",
            (written(_MORE, _GAMES),),
        ),
        Entry("results/store/calibrated.json", "This file holds the calibrated cost model.", tuple(blocks_of(Calibrated))),
    ),
)
