"""A network between a worker and everybody else, in a process of its own: stopped by SIGSTOP, nothing goes through.

    python relay.py PORT:TARGET PORT:TARGET

What connects to a port of this machine is passed on to a target port, and back. What was under way arrives late, when
the process goes on.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from functools import partial


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _connect(target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        onward = await asyncio.open_connection("127.0.0.1", target)
    except OSError:
        writer.close()
        return
    await asyncio.gather(_pass(reader, onward[1]), _pass(onward[0], writer))


async def _serve(pairs: list[tuple[int, int]]) -> None:
    servers = [await asyncio.start_server(partial(_connect, target), "127.0.0.1", port) for port, target in pairs]
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(_serve([(int(port), int(target)) for port, target in (pair.split(":") for pair in sys.argv[1:])]))
