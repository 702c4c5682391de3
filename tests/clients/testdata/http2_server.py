"""A server of HTTP/2 for the tests of the client, made with hypercorn.

Arguments: address without TLS, address with TLS, certificate, key.
"""

import asyncio
import gzip
import sys

from hypercorn.asyncio import serve
from hypercorn.config import Config

TEXT = b"a line of text that compresses\n" * 2000
LARGE = b"0123456789abcdef" * (1 << 16)
ran = {}


async def body(receive):
    whole = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        whole += message.get("body", b"")
        if not message.get("more_body"):
            return whole


async def answer(send, content, status=200, fields=()):
    await send({"type": "http.response.start", "status": status, "headers": list(fields)})
    await send({"type": "http.response.body", "body": content})


async def pieces(send, lines, pause):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for line in lines:
        await send({"type": "http.response.body", "body": line, "more_body": True})
        if pause:
            await asyncio.sleep(pause)
    await send({"type": "http.response.body", "body": b""})


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    path = scope["path"]
    fields = dict(scope["headers"])
    if path.startswith("/once/"):
        ran[path] = ran.get(path, 0) + 1
        content = path.encode() + b" " + await body(receive)
        return await answer(send, content, fields=[(b"x-ran", str(ran[path]).encode())])
    if path == "/hello":
        await answer(send, b"Hello, files!\n")
    elif path == "/large":
        length = [(b"content-length", str(len(LARGE)).encode())]
        await answer(send, b"" if scope["method"] == "HEAD" else LARGE, fields=length)
    elif path == "/gzip":
        if b"gzip" in fields.get(b"accept-encoding", b""):
            await answer(send, gzip.compress(TEXT), fields=[(b"content-encoding", b"gzip")])
        else:
            await answer(send, TEXT)
    elif path == "/chunked":
        await pieces(send, [TEXT[i : i + 3100] for i in range(0, len(TEXT), 3100)], 0)
    elif path == "/slow":
        await pieces(send, [b"one\n", b"two\n", b"three\n"], 0.05)
    elif path == "/broken":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
        await send({"type": "http.response.body", "body": b"cut ", "more_body": True})
        raise RuntimeError("on purpose")
    elif path == "/redirect":
        await answer(send, b"", 302, [(b"location", b"/hello")])
    elif path == "/keep":
        await body(receive)
        await answer(send, b"", 307, [(b"location", b"/echo")])
    elif path == "/echo":
        await answer(send, await body(receive))
    elif path == "/duplex":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        more = True
        while more:
            message = await receive()
            more = message.get("more_body", False)
            await send({"type": "http.response.body", "body": message.get("body", b""), "more_body": more})
    else:
        await answer(send, b"gone", 410)


async def main():
    plain, secure, cert, key = sys.argv[1:]
    config = Config()
    config.bind, config.insecure_bind = [secure], [plain]
    config.certfile, config.keyfile = cert, key
    # After the last request it fails requests whose bodies are on their way.
    config.keep_alive_max_requests = 1_000_000
    config.errorlog = None
    await serve(app, config)


asyncio.run(main())
