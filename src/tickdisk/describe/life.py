"""The files of a server life: its tables, its player trace, and the record of every process."""

from tickdisk.describe.entry import Entry, Section, blocks_of, table_entry, written
from tickdisk.foundation.process import ChildRecord
from tickdisk.foundation.table import SCHEMAS

LIFE = "results/runs/CELL/LIFE"

_TICKS = table_entry(
    f"{LIFE}/ticks.parquet",
    "Each row is a tick of the server.",
    SCHEMAS["ticks"],
    {
        "tick": "The number of the tick; the first tick of a server life is 1.",
        "start_ns": "The time at which the tick began: the time at which it reached the tick probe.",
        "end_ns": ("The time at which the tick ended. It is null for a server whose probe does not see the end of a tick."),
        "players": "The number of players that were connected.",
        "thread": "The identity of the thread in which the tick ran, as the kernel counts threads; null if not known.",
    },
    {"players": "players"},
)

_SAVES = table_entry(
    f"{LIFE}/saves.parquet",
    "Each row is a periodic save that the project's program of the server made. A server that saves by itself has no rows.",
    SCHEMAS["saves"],
    {
        "begin_ns": "The time at which the program asked for the save.",
        "end_ns": "The time at which the server had made it.",
    },
)

_PAUSES = table_entry(
    f"{LIFE}/pauses.parquet",
    "Each row is a time in which the runtime of the server stopped all threads. If it does not tell this, there are no rows.",
    SCHEMAS["pauses"],
    {
        "name": "The reason, in the runtime's own word, such as `gc` or `ZMarkStartYoung`.",
        "begin_ns": "The time at which the runtime began to stop threads.",
        "end_ns": "The time at which threads could run again.",
    },
)

_ACTIONS = table_entry(
    f"{LIFE}/actions.parquet",
    "Each row is an action of a player; there is one for each line of the player trace.",
    SCHEMAS["actions"],
    {
        "player": "The name of the player.",
        "action": "The kind of action: join, walk, teleport, place, dig, ping, marker, burn, look or leave.",
        "due_ns": "The time at which the player trace wants the action to begin.",
        "issued_ns": "The time at which the client began the action. It is null if the client never did.",
        "completed_ns": "The time at which the client saw that the action was completed. It is null if it was not.",
        "outcome": "The end of the action: completed, timed_out or failed.",
        "detail": "A remark of the client, such as the reason of a failure. It may be empty.",
        "x": "The position of the block that was placed, dug or looked at. It is null for other actions.",
        "y": "The same, upwards.",
        "z": "The same, along z.",
        "seen": (
            "The answer to a look: placed (a block of the kind that players place), air, other (another block), or refused "
            "(the server has no terrain there or cannot read it, and the look failed). It is null for other actions, and for "
            "a look that the server did not answer."
        ),
    },
)

_DEVICE = table_entry(
    f"{LIFE}/device.parquet",
    "Each row is a request that the device answered, in the order of arrival. An emulated device tells its requests "
    "itself. Those of a real disk are the kernel's, as in `blocks.parquet`, with the completion in the place of the model's.",
    SCHEMAS["device"],
    {
        "seq": "The number of the request. A number that is missing belongs to a request that failed in a power cut.",
        "op": "The operation: read, write, flush or discard.",
        "offset": "The place of the first byte on the device.",
        "length": "The number of bytes.",
        "arrival_ns": (
            "The time at which the kernel issued the request to the block device. Where the kernel does not tell it, this is the "
            "time at which the emulator took the request."
        ),
        "inflight": "The number of requests that were in the device when the emulator took this one, which is counted, too.",
        "nominal_ns": "The time at which the device model completes the request.",
        "replied_ns": "The time at which the kernel had the reply of the emulator.",
        "setting": (
            "The number of the setting of the device that was in force, as in `epochs.parquet`. Setting 0 belongs to the set-up, "
            "in which no request is delayed."
        ),
    },
    {"offset": "B", "length": "B", "inflight": "requests"},
)

_BLOCKS = table_entry(
    f"{LIFE}/blocks.parquet",
    "Each row is a request to the block device under the file system, as the kernel saw it, in the order of issue. Only lives "
    "beside a real disk have it, and they have it on every device.",
    SCHEMAS["blocks"],
    {
        "op": "The operation: read, write, flush or discard.",
        "sector": "The number of the first sector of 512 bytes. It is 0 for a flush.",
        "length": "The number of bytes. It is 0 for a flush.",
        "issued_ns": "The time at which the kernel handed the request to the driver of the device.",
        "completed_ns": "The time at which the device had completed it.",
    },
    {"length": "B"},
)

_EPOCHS = table_entry(
    f"{LIFE}/epochs.parquet",
    "Each row is an epoch: a part of the server life in which one arm was in force.",
    SCHEMAS["epochs"],
    {
        "epoch": "The number of the epoch; the first epoch of a server life is 0.",
        "arm": "The name of the arm.",
        "device": "The name of the device model of the arm.",
        "setting": "The number of the setting of the device, as in `device.parquet`.",
        "start_ns": "The time from which requests met the device of this epoch.",
        "steady_ns": "The time from which the epoch is analysed; the part before it is cut.",
        "end_ns": "The time at which the plan ends the epoch.",
    },
)

_CLOCKS = table_entry(
    f"{LIFE}/clocks.parquet",
    "Each row is a reading of three clocks of the kernel, one every ten seconds. It relates the times of other programs to ours.",
    SCHEMAS["clocks"],
    {
        "monotonic_ns": "The reading of CLOCK_MONOTONIC, which all other tables use.",
        "monotonic_raw_ns": "The reading of CLOCK_MONOTONIC_RAW, which the game server uses.",
        "realtime_ns": "The reading of CLOCK_REALTIME, which strace uses; it counts from the beginning of 1970.",
        "uncertainty_ns": "Half of the time that the three readings took together.",
    },
)

_LOAD = table_entry(
    f"{LIFE}/load.parquet",
    "Each row is a process at one second: the processor time that it had used by then.",
    SCHEMAS["load"],
    {
        "monotonic_ns": "The time of the reading.",
        "process": (
            "The process: server, tick thread, players, emulator, emulator_apart (that of the other device, in a life with two), "
            "database (with the processes of its connections, in a life that has one), capture or block trace. The tick thread "
            "is part of the server."
        ),
        "cpu_ns": "The processor time that the process had used since it started.",
    },
)

_REQUESTS = table_entry(
    f"{LIFE}/requests.parquet",
    "Each row is a system call of the server on a file, or a page fault in a mapped file. Only captured server lives have it. "
    "`tickdisk convert` writes traces of other tools in the same form, in which a value that the trace does not have is null.",
    SCHEMAS["requests"],
    {
        "seq": "The number of the request; the first is 0. In a capture it follows the start times, and in a trace its lines.",
        "level": "The layer of the request: syscall, or block for a request to a block device. A capture has syscall only.",
        "op": (
            "The kind of request: read, write, sync, truncate, fallocate, open, close, rename, link, symlink, unlink, mkdir, "
            "rmdir, mmap, fault, seek, dup, flush or discard. Several system calls are of one kind. A call that copies bytes "
            "between two files, such as copy_file_range, is a read in the first half of its time and a write in the second."
        ),
        "call": "The name of the system call; fault stands for a page fault.",
        "start_ns": (
            "The time at which the request began. In a trace it counts from where the clock of the trace does. For a request to "
            "a block device it is the time at which it was issued to the device."
        ),
        "latency_ns": "The time that the request took. A page fault that led to no wait has 0.",
        "queued_ns": "The time for which a request to a block device had waited in a queue before it was issued.",
        "thread": "The number that the kernel gave to the thread.",
        "thread_name": "The name of the thread when the request began, or of the command in a trace of a block device.",
        "process": "The number that the kernel gave to the process.",
        "volume": "The name of the block device. It is null for a system call.",
        "file": (
            "The path of the file. It is null where the capture does not know the file. A file without a name (O_TMPFILE) is "
            "called #unnamed and a number, in its folder."
        ),
        "renamed": (
            "The path that a rename or a link gives to the file, or the path to which a symbolic link leads. It is null for "
            "other calls, and where it is not known."
        ),
        "offset": (
            "The place in the file at which the request began, or the place to which a seek led. It is null where the "
            "request has no such place, or where the capture does not know it."
        ),
        "length": "The number of bytes that were asked for. It is null where the request asks for no bytes.",
        "flags": (
            "The flags of an open, a rename or a link, or the mode of a fallocate, as the kernel numbers them. It is null for "
            "other calls."
        ),
        "result": "The result of the call, which is the number of bytes for a read or write. It is 0 if the call failed.",
        "errno": "The number of the error. It is 0 if the call succeeded.",
        "storing": (
            "How a read or a write asks to be stored: buffered (through the page cache), or O_DIRECT, O_DSYNC, O_SYNC, RWF_DSYNC "
            "and RWF_SYNC, joined by a vertical bar if there are several. It is null for other calls, and where the trace does "
            "not say."
        ),
        "data": "The data that the file holds: terrain, player or other.",
    },
    {"offset": "B", "length": "B"},
)

_WAITS = table_entry(
    f"{LIFE}/waits.parquet",
    "Each row is a time in which a thread of the server did not run, or was not there. Lives that bpftrace captured have it.",
    SCHEMAS["waits"],
    {
        "thread": "The number that the kernel gave to the thread.",
        "thread_name": "The name of the thread when the wait began.",
        "start_ns": "The time at which the wait began.",
        "end_ns": "The time at which the wait ended.",
        "kind": (
            "The reason of the wait: io (storage), lock (another thread holds something), run_queue (the thread could run "
            "and had no core), sleep (everything else) or absent (the thread had not begun yet, or had ended)."
        ),
        "call": "The system call in which the thread waited; fault stands for a page fault. It is empty if there was none.",
        "waker": "The number of the thread that ended the wait. It is null if none was seen.",
        "waker_name": "The name of the thread that ended the wait. It is null if none was seen.",
    },
)

_EXTENTS = table_entry(
    f"{LIFE}/extents.parquet",
    "Each row is a part of a file that lay in one piece on the device. Only captured lives on a block device have it.",
    SCHEMAS["extents"],
    {
        "file": "The path of the file.",
        "offset": "The place of the part in the file.",
        "physical": "The place of the part on the device.",
        "length": "The number of bytes of the part.",
    },
    {"offset": "B", "physical": "B", "length": "B"},
)

_CUTS = table_entry(
    f"{LIFE}/cuts.parquet",
    "Each row is a power cut: an image of the devices was taken while the life went on, and a server was started on it "
    "afterwards. Only lives whose plan has power cuts have it.",
    SCHEMAS["cuts"],
    {
        "cut": "The number of the power cut; the first of a server life is 0.",
        "due_ns": "The time at which the plan wants the power cut.",
        "cut_ns": (
            "The time of the power cut. A server may have answered players until then. It is null if the server had ended before."
        ),
        "late_ns": "The time from the planned to the actual cut. It is null if the server had ended before.",
        "apart_ns": "The time between the images of the two devices of the life. It is null for one device.",
        "keep_share": "The share of unflushed versions of pages that were to survive, each of them drawn at random.",
        "pages_dropped": (
            "The number of versions of pages of 4 KiB that were not flushed and are lost. It is null if the server had ended "
            "before."
        ),
        "pages_kept": "The number of unflushed versions of pages that survived. It is null if the server had ended before.",
        "outcome": (
            "The outcome of the cut: opened (a server started, and players joined and looked to the end), not_mounted (a file "
            "system did not recover), not_started (the server did not start), no_player (no player could join), ended (the "
            "server ended by itself while players looked), or server_had_ended (the server had ended by itself before the cut)."
        ),
        "tries": "The number of tries to start a server. It is 0 if the server of the life had ended before the cut.",
        "absent": "The number of players who were to look and could not join.",
        "detail": "The words of what failed, also of players who could not join. It is empty if nothing failed.",
    },
    {"keep_share": "share", "pages_dropped": "versions", "pages_kept": "versions", "tries": "tries", "absent": "players"},
)

_REMAINS = table_entry(
    f"{LIFE}/remains.parquet",
    "Each row is a block that a player had placed and the server had acknowledged before a power cut, and what a player saw "
    "there afterwards. Only lives whose plan has power cuts have it.",
    SCHEMAS["remains"],
    {
        "cut": "The number of the power cut, as in `cuts.parquet`.",
        "player": "The name of the player who placed the block.",
        "x": "The position of the block.",
        "y": "The same, upwards.",
        "z": "The same, along z.",
        "issued_ns": "The time at which the client asked for the block.",
        "acknowledged_ns": "The time at which the answer of the server arrived at the client.",
        "seen": (
            "The answer to a look of a player after the cut: placed (the block is still there), air, other, or refused (the "
            "server has no terrain there or cannot read it). It is null if the world did not open, or if neither the look of "
            "this player nor that of another one was answered."
        ),
    },
)

_INJECTIONS = table_entry(
    f"{LIFE}/injections.parquet",
    "Each row is a stall that was made on purpose. Only lives whose plan has such stalls have it.",
    SCHEMAS["injections"],
    {
        "kind": "The kind of stall: device_stall (the device starts no request) or cpu_stall (the tick thread is kept busy).",
        "due_ns": "The time at which the plan wants the stall to begin.",
        "start_ns": "The time at which the stall began.",
        "end_ns": "The time at which the stall ended.",
    },
)

_PLAYERS = Entry(
    f"{LIFE}/players.jsonl",
    "This is the player trace. Each line is an object for an action that a player is to take, in the order of due times.",
    (
        written(
            "Each line has these keys:",
            {
                "due_ns": ("integer", "The time at which the action is due, counted from the start of the trace."),
                "player": ("text", "The name of the player."),
                "action": ("text", "The kind of action, as in `actions.parquet`."),
                "parameters": (
                    "object",
                    (
                        "The numbers that the action needs: `x`, `y` and `z` in nodes for a place, `yaw_degrees` and "
                        "`speed_nodes_per_s` for a walk, `milliseconds` for a burn, and `number` for a marker."
                    ),
                ),
            },
        ),
    ),
)

_LOGS = Entry(
    f"{LIFE}/logs/PROCESS.json",
    "Each process that Tickdisk starts leaves such a file, and its output beside it. Folders of logs elsewhere have them, too.",
    tuple(blocks_of(ChildRecord)),
)

SECTION = Section(
    "A server life",
    "The folder of a cell holds a folder for each of its server lives. Besides the files below, `raw` holds the "
    "output of the tick probe, of the clients, of each device, of the server and of a capture as these programs "
    "wrote it, compressed with zstd.",
    (
        _TICKS,
        _SAVES,
        _PAUSES,
        _ACTIONS,
        _DEVICE,
        _BLOCKS,
        _EPOCHS,
        _CLOCKS,
        _LOAD,
        _REQUESTS,
        _WAITS,
        _EXTENTS,
        _CUTS,
        _REMAINS,
        _INJECTIONS,
        _PLAYERS,
        _LOGS,
    ),
)
