"""A server for the tests of the client.

Arguments: address for http, address for https, certificate, key.
"""

import asyncio
import ssl
import sys

from aiohttp import web

TEXT = "a line of text that compresses\n" * 2000
LARGE = b"0123456789abcdef" * (1 << 16)


async def hello(request):
    return web.Response(text="Hello, files!\n")


async def large(request):
    return web.Response(body=LARGE)


async def compressed(request):
    response = web.Response(text=TEXT)
    response.enable_compression()
    return response


async def pieces(request, lines, pause):
    response = web.StreamResponse()
    response.enable_chunked_encoding()
    await response.prepare(request)
    for line in lines:
        await response.write(line.encode())
        if pause:
            await asyncio.sleep(pause)
    await response.write_eof()
    return response


async def chunked(request):
    return await pieces(request, TEXT.splitlines(keepends=True), 0)


async def slow(request):
    return await pieces(request, ["one\n", "two\n", "three\n"], 0.05)


async def broken(request):
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b"cut ")
    request.transport.close()
    return response


async def redirect(request):
    raise web.HTTPFound("/hello")


async def keep(request):
    await request.read()
    raise web.HTTPTemporaryRedirect("/echo")


async def echo(request):
    return web.Response(body=await request.read())


async def gone(request):
    raise web.HTTPGone()


async def main():
    plain, secure, cert, key = sys.argv[1:]
    app = web.Application(client_max_size=16 << 20)
    app.router.add_route("*", "/hello", hello)
    app.router.add_route("*", "/large", large)
    app.router.add_route("*", "/gzip", compressed)
    app.router.add_route("*", "/chunked", chunked)
    app.router.add_route("*", "/slow", slow)
    app.router.add_route("*", "/broken", broken)
    app.router.add_route("*", "/redirect", redirect)
    app.router.add_route("*", "/keep", keep)
    app.router.add_route("*", "/echo", echo)
    app.router.add_route("*", "/gone", gone)
    runner = web.AppRunner(app)
    await runner.setup()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    for addr, tls in ((plain, None), (secure, context)):
        host, port = addr.split(":")
        await web.TCPSite(runner, host, int(port), ssl_context=tls).start()
    await asyncio.Event().wait()


asyncio.run(main())
