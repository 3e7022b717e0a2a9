"""The floor of small rooms on which all others stand: files, tables, times, numbers, processes and the machine.

Each module is a room with an interface of its own. None of them depends on a device, a server or a study.
"""
