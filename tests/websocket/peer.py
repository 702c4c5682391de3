"""A peer on websockets for Python (https://websockets.readthedocs.io). Its arguments and what it
prints are those of peer.cjs."""

import asyncio
import os
import ssl
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


def status(error):
    frame = error.rcvd
    return "aborted" if frame is None else f"{frame.code} {frame.reason}".strip()


async def echo(ws, data):
    await ws.send(data)
    got = await ws.recv()
    if type(got) is not type(data) or got != data:
        raise AssertionError(f"the echo of {len(data)} differs")


async def end(ws, want):
    await ws.send("go")
    try:
        got = await ws.recv()
    except ConnectionClosed as e:
        got = status(e)
    if got != want:
        raise AssertionError(f"the end is {got!r}, not {want}")


async def echoes(ws, largest=16 << 20):
    for text in ["hello", "", "Grüße, 世界! 🙂 " * (1 << 16)]:
        await echo(ws, text)
    for n in [4, 125, 126, 65535, 65536, largest]:
        await echo(ws, os.urandom(n))
    await ws.close(4001, "bye")
    if ws.close_code != 4001:
        raise AssertionError(f"the end is {ws.close_code}")


async def compressed(ws):
    if not any(e.name == "permessage-deflate" for e in ws.protocol.extensions):
        raise AssertionError("no compression")
    await echoes(ws, 1 << 20)


async def ping(ws):
    await (await ws.ping("are you there?"))
    await echo(ws, "after a ping")


async def pinged(ws):
    await ws.send("hello")
    if await ws.recv() != "pong hello":
        raise AssertionError("no pong")


async def abort(ws):
    await echo(ws, "hello")
    ws.transport.abort()


# path, the end that the server must see, what happens
conversations = [
    ("/echo", "4001 bye", echoes),
    ("/deflate", "4001 bye", compressed),
    ("/echo", "-", ping),
    ("/ping", "-", pinged),
    ("/close", "4002 enough", lambda ws: end(ws, "4002 enough")),
    ("/echo", "aborted", abort),
    ("/abort", "-", lambda ws: end(ws, "aborted")),
]


async def client(base):
    context = None
    if base.startswith("wss:"):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for number, (path, want, talk) in enumerate(conversations):
        result = "ok"
        try:
            deflate = "deflate" if path == "/deflate" else None
            async with connect(f"{base}{path}?{number}", compression=deflate, max_size=None, ssl=context) as ws:
                await talk(ws)
        except Exception as e:
            result = f"{type(e).__name__} {e}"
        print(f"{number}\t{want}\t{path}: {result}", flush=True)


async def answer(ws, path, message):
    match path:
        case "/ping":
            await (await ws.ping("are you there?"))
            await ws.send(f"pong {message}")
        case "/close":
            await ws.close(4002, "enough")
        case "/abort":
            ws.transport.abort()
        case _:
            await ws.send(message)


async def handle(ws):
    path, _, id = ws.request.path.partition("?")
    try:
        while True:
            await answer(ws, path, await ws.recv())
    except ConnectionClosed as e:
        print(f"{id}\t{status(e)}", flush=True)


async def server():
    async with serve(handle, "127.0.0.1", 0, max_size=None) as s:
        print(s.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        os._exit(0)


asyncio.run(server() if sys.argv[1] == "server" else client(sys.argv[2]))
