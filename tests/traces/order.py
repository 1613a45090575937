"""`order.py SOCKET WORD`: hand a word to whoever listens at a Unix socket, and wait until it is done."""

import socket
import sys


def main() -> int:
    """Exit code 1 where nobody says that it is done."""
    address, word = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        line.sendall(f"{word}\n".encode())
        return 0 if line.makefile().readline() == "done\n" else 1


if __name__ == "__main__":
    sys.exit(main())
