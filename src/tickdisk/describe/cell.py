"""The plan, and the manifest of a cell."""

from tickdisk.config import AnyScale, Config, Resolved
from tickdisk.describe.entry import Block, Entry, Section, blocks_of, written
from tickdisk.describe.keys import keys_of_class
from tickdisk.experiment import Epoch, Injection, Life
from tickdisk.project import Plan

CAPTURE_SUMMARY = {
    "tool": ("text", "The tool that captured: bpftrace, strace or strace_positioned."),
    "version": ("text", "The version of the tool."),
    "started_ns": ("integer", "The time at which the capture began."),
    "ended_ns": ("integer", "The time at which the capture ended."),
    "lines": ("integer", "The number of lines that the tool wrote."),
    "requests": ("integer", "The number of requests that the capture holds."),
    "events": ("integer", "The number of requests and waits that arrived from the kernel."),
    "lost_events": ("integer", "The number of events that did not arrive."),
    "rejected": ("integer", "The number of lines that could not be read."),
    "rejects": ("list of texts", "The lines that could not be read."),
    "unfinished": ("integer", "The number of requests that had not ended when the capture ended."),
    "cut_paths": ("integer", "The number of paths that were too long and were cut."),
    "not_files": ("integer", "The number of calls that were left out because they were on sockets, pipes and the like."),
    "other_processes": (
        "integer",
        "The number of requests that were left out because their process only started the captured ones.",
    ),
    "offsets_unknown": ("integer", "The number of reads and writes whose offset is not known."),
    "files_unknown": ("integer", "The number of requests whose file is not known."),
    "not_followed": ("object", "The number of calls, by name, that may read or write a file in a way that no row shows."),
    "missing": ("list of texts", "The tracepoints that this kernel does not have."),
    "faults": ("text or null", "The tracepoint that told page faults. It is null where none did."),
}
"""The keys that describe a capture, both in a manifest and in `capture.json`."""
CAPTURE_UNITS = {
    "lines": "lines",
    "requests": "requests",
    "events": "events",
    "lost_events": "events",
    "rejected": "lines",
    "unfinished": "requests",
    "cut_paths": "paths",
    "not_files": "calls",
    "other_processes": "requests",
    "offsets_unknown": "requests",
    "files_unknown": "requests",
    "not_followed": "calls",
}

_MANIFEST = written(
    "The file is an object with these keys:",
    {
        "hash": ("text", "The name of the folder, computed from all that decides the outcome of the cell."),
        "experiment": ("text", "The name of the experiment."),
        "server": ("object", "The kind of server, and what the analysis has to know of it."),
        "block": ("integer", "The number of the block; the first is 0."),
        "resolved": ("object", "All settings and programs that decide the outcome of the cell."),
        "plan": ("list of objects", "The planned server lives, in the order in which they ran."),
        "models": ("object", "The device model of each arm, under the name of the arm. See *Device model* below."),
        "realised_ns": (
            "object",
            (
                "The median latency that calibration found for the device of each arm, under the name of the arm. It is null "
                "for a device that was not calibrated."
            ),
        ),
        "host": ("object", "The machine that ran the cell. See *Host* below."),
        "machine": ("object", "The parts of the machine that must be the same for cells to be analysed together."),
        "backend": ("text", "The way in which devices were emulated, such as fuse or tree."),
        "not_judged": ("list of texts", "Sentences on limits that this machine could not judge."),
        "lives": ("object", "The record of each server life, under the name of the life."),
        "calibration": ("text", "A digest of the calibration that the cell used."),
    },
)

_SERVER = written(
    "`server` has these keys:",
    {
        "name": ("text", "The name of the server in the configuration."),
        "title": ("text", "The name of the server for people."),
        "tick_budget_ns": ("integer", "The time from the start of one tick to the start of the next, if both are on time."),
        "tick_thread": (
            "text or null",
            "The name of the thread that ticks. It is null if each tick has its own thread on record.",
        ),
        "reader_threads": (
            "text or null",
            "The beginning of the names of the threads that read the world. It is null if the thread that ticks reads it.",
        ),
        "parks": ("true or false", "Whether a thread that has nothing to do waits in a futex."),
    },
)

_RESOLVED = written(
    "`resolved` has these keys:",
    {
        "server": ("text", "The name of the server."),
        "behaviour": ("text", "The behaviour of the players."),
        "design": ("object", "The settings of the experiment in the scale that ran, without the number of its lives or blocks."),
        "arms": ("list of objects", "The parts of each arm that decide the outcome."),
        "limits": ("object", "The limits above which a server life is replaced."),
        "replacements": ("integer", "The number of times that a server life may be replaced."),
        "world": ("object", "The settings of the world."),
        "device_size_mib": ("integer", "The size of the device."),
        "file_system": ("text", "The file system on the device."),
        "seed": ("integer", "The seed of every random choice."),
        "code": ("object", "The versions and digests of the programs that made the cell, by part."),
    },
    {"replacements": "times"},
)

_RESOLVED_ARM = written(
    "Each object of `resolved.arms` has these keys:",
    {
        "arm": ("text", "The name of the arm."),
        "device": ("object", "The device model of the arm. See *Device model* below."),
        "is_sham": ("true or false", "Whether the device burns processor time as the sham control does."),
        "tick_delay_ms": (
            "integer or null",
            "The time for which the probe keeps the tick thread busy; null for an arm without it.",
        ),
        "capture": ("text", "The tool that captures in this arm, or none."),
    },
)

_PLANNED_LIFE = Block(
    "Each object of `plan` is a server life with these keys:",
    keys_of_class(Life),
    {
        "name": "The name of the server life, which is the name of its folder.",
        "first_arm": "The arm on whose device the server starts.",
        "trace_seed": "The seed of the player trace.",
        "seconds": "The length of the player trace.",
        "epochs": "The epochs in the order in which they run.",
        "injections": "The stalls that are made on purpose, in the order of due times.",
    },
    {"seconds": "s"},
)

_PLANNED_EPOCH = Block(
    "Each object of `epochs` has these keys; times are counted from the start of the player trace:",
    keys_of_class(Epoch),
    {
        "arm": "The name of the arm.",
        "start_s": "The time at which the epoch begins.",
        "steady_s": "The time from which the epoch is analysed.",
        "end_s": "The time at which the epoch ends.",
    },
)

_PLANNED_INJECTION = Block(
    "Each object of `injections` has these keys:",
    keys_of_class(Injection),
    {
        "kind": "The kind of stall, as in `injections.parquet`.",
        "due_s": "The time at which the stall is due, counted from the start of the player trace.",
        "length_ms": "The length of the stall.",
    },
)

_LIFE = written(
    "Each object of `lives` has these keys:",
    {
        "name": ("text", "The name of the server life."),
        "trace_events": ("integer", "The number of lines of the player trace."),
        "phases": ("list of objects", "The phases of the player trace: `name`, `start_s`, `end_s` and the number of `events`."),
        "captures": ("list of objects", "The captures of the life, in order."),
        "requests": ("integer", "The number of requests in the log of the device."),
        "started_ns": ("integer", "The time at which the player trace began."),
        "load": ("object", "The load of the machine during the life. See *Load* below."),
        "ticks": ("object", "Counts of the tick probe."),
        "rejects": ("list of lists", "The lines of the tick probe that could not be read: number and text of each."),
        "markers": (
            "list of objects",
            (
                "Things that the tick probe was told to do: the `name`, and the times `before_ns` and `after_ns` between "
                "which it did them."
            ),
        ),
        "client": ("object", "The status of the clients at the end."),
        "device": ("object", "The status of the device at the end."),
        "calibrated_lack": (
            "text",
            "The reason for which the kernel did not tell arrivals during calibration; empty if it told them.",
        ),
        "file_system": ("text or null", "The file system on the device; `tree` where the device is a file system itself."),
        "server": (
            "object",
            (
                "The game server: `binary`, `version`, `sha256`, `settings`, `port`, and `ready_s`, the time until it "
                "accepted players."
            ),
        ),
        "server_problems": ("list of texts", "The errors that the server reported, and an end that was not clean."),
        "server_ended_in_order": ("true or false", "Whether the server ended as it was told to."),
        "ended": (
            "object or null",
            (
                "Where the server ended by itself: the `epoch` (null before the first), the `arm`, the time `at_ns`, and the "
                "last words `said`. It is null where the server did not end by itself."
            ),
        ),
        "floors_ns": ("object", "The latency of the emulator itself, which is subtracted, for each arm."),
        "latest_switch_ns": ("integer", "The longest time by which an epoch began after its planned time."),
        "clock_disagreement_ns": (
            "integer or null",
            (
                "The longest time by which the clocks of clients, probe and device contradict each other. It is null where no "
                "marker was seen by all of them."
            ),
        ),
        "markers_unseen": ("integer", "The number of markers that were answered and that the probe or the device did not see."),
        "saturated": ("object", "Sentences on the arms in which the clients were short of processor time, by arm."),
        "attempts": ("list of objects", "All attempts to run the life, in order; the last one was kept."),
        "marked": (
            "list of texts",
            "The reasons for which the attempt that was kept should have been replaced; empty for a life in order.",
        ),
        "not_valid": ("object", "The reasons for which the life says nothing about an arm, by arm."),
        "noted": ("list of texts", "Sentences on events that a slow disk may have caused; they stay in the results."),
    },
    {
        "trace_events": "lines",
        "requests": "requests",
        "markers_unseen": "markers",
    },
)

_ATTEMPT = written(
    "Each object of `attempts` has these keys:",
    {
        "started_unix_s": ("number", "The time at which the attempt began, counted from the beginning of 1970."),
        "load": ("object", "The load of the machine during the attempt. See *Load* below."),
        "reasons": ("list of texts", "The reasons to replace the life; empty if there was none."),
    },
)

_TICKS = written(
    "`ticks` has these keys:",
    {
        "ticks": ("integer", "The number of ticks that were recorded."),
        "missing": ("integer", "The number of ticks whose record is missing."),
        "duplicated": ("integer", "The number of records of a tick that was recorded before."),
        "late": ("integer", "The number of ticks that began more than 1.5 budgets after the tick before."),
        "backwards": ("integer", "The number of ticks that began before the tick before."),
        "rejected": ("integer", "The number of lines that could not be read."),
        "merged": ("integer", "The number of ticks that the server left out to catch up."),
        "blocks_generated": (
            "integer",
            "The number of pieces of terrain (map blocks or chunks) that were generated; there should be none.",
        ),
        "complete": ("true or false", "Whether the probe wrote its last record."),
    },
    {
        "ticks": "ticks",
        "missing": "ticks",
        "duplicated": "records",
        "late": "ticks",
        "backwards": "ticks",
        "rejected": "lines",
        "merged": "ticks",
        "blocks_generated": "map blocks",
    },
)

_CLIENT = written(
    "`client` has these keys:",
    {
        "address": ("text", "The address of the server."),
        "start_ns": ("integer", "The time at which the player trace began."),
        "end_ns": ("integer", "The time at which the clients ended."),
        "interrupted": ("true or false", "Whether the clients were ended before all actions had ended."),
        "players": ("integer", "The number of players in the trace."),
        "completion": ("text", "A description of when each kind of action counts as completed."),
        "actions": ("object", "The counts `offered`, `completed`, `timed_out` and `failed` for each kind of action."),
        "backlog_max": ("integer", "The highest number of actions that were due and not yet begun."),
        "schedule_lag": (
            "object",
            (
                "The time by which the clients' own timers were late: `samples`, `p50_ms`, `p99_ms` and `max_ms`. A "
                "percentile that too few samples tell is null."
            ),
        ),
        "lag_seconds": (
            "list of objects",
            (
                "For each `second` of the trace the number of timers (`samples`), and the number that were later than the "
                "limit (`over`)."
            ),
        ),
        "max_lag_ms": ("number", "The limit of that lag."),
        "saturated": ("true or false", "Whether the lag shows that the clients were short of processor time."),
        "cpu_s": ("number", "The processor time that the clients used."),
        "network": (
            "object",
            (
                "Counts of the traffic: `packets_sent`, `packets_received`, `packets_dropped`, `bytes_sent`, `bytes_received`, "
                "`retransmissions`, `duplicates`, `blocks_received` and `connection_errors`."
            ),
        ),
        "first_refusal": ("text", "The first reason with which the server refused a player. It is absent if none was refused."),
    },
    {"players": "players", "backlog_max": "actions"},
)

_DEVICE = written(
    "`device` has these keys:",
    {
        "requests": ("object", "The number of requests, by operation."),
        "bytes": ("object", "The number of bytes, by operation."),
        "inflight": ("integer", "The number of requests in the device."),
        "max_inflight": ("integer", "The highest number of requests that were in the device at once."),
        "stamped": ("integer", "The number of requests whose arrival the kernel told."),
        "log_written": ("integer", "The number of requests that the log of the device holds."),
        "log_overflow": ("integer", "The number of requests without a record."),
        "burn_owed_ns": ("integer", "The processor time that the sham has still to burn."),
        "floor_ns": ("integer", "The latency of the emulator itself that is subtracted."),
        "setting": ("integer", "The number of the setting that is in force."),
        "stalls": ("list of lists of 2 integers", "Begin and end of each stall that was ordered."),
        "real_time": ("true or false", "Whether the threads of the emulator had real-time priority."),
        "requests_failed": ("integer", "The number of requests that power cuts failed."),
        "unflushed_pages": (
            "integer or null",
            "The number of versions of 4 KiB pages that a power cut could take. It is null for a device that loses nothing.",
        ),
        "cpu_ns": ("integer", "The processor time that the emulator used."),
        "cpu_ns_by_thread": ("object", "The same, by thread."),
        "cores_awake": ("true or false", "Whether the emulator could keep idle cores from sleeping."),
        "arrivals_lack": ("text", "The reason for which the kernel did not tell arrivals; empty if it told them."),
    },
    {
        "requests": "requests",
        "inflight": "requests",
        "max_inflight": "requests",
        "stamped": "requests",
        "log_written": "requests",
        "log_overflow": "requests",
        "stalls": "ns",
        "requests_failed": "requests",
        "unflushed_pages": "pages",
        "cpu_ns_by_thread": "ns",
    },
)

_CAPTURE = written(
    "Each object of `captures` has these keys:",
    {"arm": ("text", "The arm in which the capture ran, or began."), **CAPTURE_SUMMARY},
    CAPTURE_UNITS,
)

_MACHINE = written(
    "`machine` has these keys:",
    {
        "processor": ("text", "The name of the processor."),
        "cores": ("integer", "The number of cores that Tickdisk may use."),
        "memory_gib": ("integer", "The size of the memory, rounded."),
        "kernel": ("text", "The version of the kernel."),
    },
    {"cores": "cores"},
)

_ARM = {
    "role": (
        "The role of the arm: the baseline, null (the baseline again), sham (the processor time of the slowest arm at the "
        "latency of the baseline), a dose, a treatment, or delay (the probe keeps the tick thread busy for a known time)."
    ),
    "latency_us": "The latency of every operation instead of that of the device. It is null for an arm that keeps that.",
    "tick_delay_ms": "The time for which the probe keeps the tick thread busy, again and again; null for an arm without it.",
}

PLAN = Section(
    "The plan",
    "The plan is made from the configuration before anything runs.",
    (
        Entry(
            "results/plan.json",
            "This file holds the configuration, the arms and all cells of a run.",
            tuple(blocks_of(Plan, elsewhere=(Config, AnyScale, Resolved), words={"arms": _ARM})),
        ),
    ),
)

SECTION = Section(
    "A cell",
    "A cell is a block of an experiment. Its folder is named after all that decides its outcome, appears when the "
    "cell is whole, and is never changed.",
    (
        Entry(
            "results/runs/CELL/manifest.json",
            "This file records how a cell was made and what happened in its server lives.",
            (
                _MANIFEST,
                _MACHINE,
                _SERVER,
                _RESOLVED,
                _RESOLVED_ARM,
                _PLANNED_LIFE,
                _PLANNED_EPOCH,
                _PLANNED_INJECTION,
                _LIFE,
                _ATTEMPT,
                _TICKS,
                _CLIENT,
                _DEVICE,
                _CAPTURE,
            ),
        ),
    ),
)
