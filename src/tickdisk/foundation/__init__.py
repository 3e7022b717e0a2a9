"""The floor of small rooms on which all others stand: files, tables, times, numbers, processes and the machine.

Each module is a room with a door of its own. None of them knows a device, a server or a study.
"""
