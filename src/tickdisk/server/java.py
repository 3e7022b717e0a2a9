"""The question by which a server of Minecraft's Java edition is asked whether it answers."""

import socket

_STATUS_REQUEST = bytes.fromhex("10 00 8606 09") + b"127.0.0.1" + bytes.fromhex("0000 01 0100")
"""A handshake of protocol 774 that asks for the server's status (address, port and next state), and the request."""


def answers(port: int) -> bool:
    """Returns whether the server on 127.0.0.1:`port` tells its status."""
    with socket.socket() as client:
        client.settimeout(0.2)
        try:
            client.connect(("127.0.0.1", port))
            client.sendall(_STATUS_REQUEST)
            return b"version" in client.recv(4096)
        except OSError:
            return False
