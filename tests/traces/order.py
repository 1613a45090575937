"""`order.py SOCKET WORD`: send a word to the listener at a Unix socket, and wait until it has completed the order."""

import socket
import sys


def main() -> int:
    """Return exit code 1 if the listener does not confirm the order."""
    address, word = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        line.sendall(f"{word}\n".encode())
        return 0 if line.makefile().readline() == "done\n" else 1


if __name__ == "__main__":
    sys.exit(main())
