"""Talks to both servers through httpx. Arguments: URL of the command's server, URL of the contract server, the
folder that the command serves. Ends with a traceback at the first thing that is wrong."""

import asyncio
import hashlib
import os
import sys

import httpx

FILES, CONTRACT, FOLDER = sys.argv[1:]


def content(name):
    with open(os.path.join(FOLDER, name), "rb") as f:
        return f.read()


TEXT, RANDOM = content("text.txt"), content("rand.bin")


def check(what, got, want):
    if got != want:
        raise AssertionError(f"{what}: got {got!r:.300}, want {want!r:.300}")


def pieces(data, size):
    for i in range(0, len(data), size):
        yield data[i : i + size]


def files():
    with httpx.Client(base_url=FILES, timeout=60) as c:
        r = c.get("/rand.bin")
        check("file", (r.status_code, r.content, r.http_version), (200, RANDOM, "HTTP/1.1"))
        r = c.head("/rand.bin")
        check("head", (r.status_code, r.content, r.headers["content-length"]), (200, b"", str(len(RANDOM))))
        r = c.get("/rand.bin", headers={"Range": "bytes=100-199"})
        check("range", (r.status_code, r.content), (206, RANDOM[100:200]))
        r = c.get("/text.txt")  # whatever codings this httpx takes
        check("text", (r.status_code, r.content), (200, TEXT))
        check("coding", r.headers.get("content-encoding") in r.request.headers["accept-encoding"].split(", "), True)
        again = c.get("/text.txt", headers={"If-None-Match": r.headers["etag"]})
        check("tag", (again.status_code, again.content), (304, b""))
        check("missing", c.get("/none").status_code, 404)
        with c.stream("GET", "/rand.bin") as r:
            check("streamed", hashlib.sha1(b"".join(r.iter_raw(10_000))).digest(), hashlib.sha1(RANDOM).digest())
        for _ in range(5):
            with c.stream("GET", "/rand.bin") as r:  # given up after the first bytes
                next(r.iter_raw(1000))
        check("after streams that were given up", c.get("/hello.txt").text, "Hello, files!\n")


def uploads():
    with httpx.Client(base_url=CONTRACT, timeout=60) as c:
        want = hashlib.sha1(RANDOM).hexdigest()
        for what, body in {
            "sized": RANDOM,
            "chunked": pieces(RANDOM, 65_536),
            "chunked, small pieces": pieces(RANDOM, 999),
        }.items():
            echo = c.post("/up", content=body).json()
            check(what, (echo["method"], echo["body_len"], echo["body_sha1"]), ("POST", len(RANDOM), want))
        names = [n.lower() for n, _ in c.post("/up", content=pieces(b"abc", 1)).json()["headers"]]
        check("framing of chunks", ("transfer-encoding" in names, "content-length" in names), (True, False))
        r = c.post("/up", content=pieces(RANDOM, 65_536), headers={"Expect": "100-continue"})
        check("expectation", (r.status_code, r.json()["body_len"]), (200, len(RANDOM)))
        r = c.post("/up", data={"a": "b c"}, files={"f": ("name.bin", RANDOM[:1000])})
        check("form", r.json()["method"], "POST")
        check("streamed answer", c.get("/stream").text, "part1part2")
        for status in (204, 205, 304, 404, 500):
            r = c.get(f"/status/{status}")
            check(f"status {status}", (r.status_code, r.text), (status, "" if status in (204, 205, 304) else "BODY"))
        try:  # refused while it is sent: an answer, or the end of the connection
            check("too large", c.post("/up", content=pieces(RANDOM * 4, 65_536)).status_code, 413)
        except (httpx.WriteError, httpx.ReadError):
            pass
        check("after that", c.get("/after").status_code, 200)


def keep_alive():
    with httpx.Client(base_url=FILES, timeout=60) as c:
        ports = set()
        for _ in range(200):
            with c.stream("GET", "/hello.txt") as r:
                ports.add(r.extensions["network_stream"].get_extra_info("client_addr"))
                r.read()
        check("connections for 200 requests", len(ports), 1)


async def pool():
    limits = httpx.Limits(max_connections=10, max_keepalive_connections=10)
    async with httpx.AsyncClient(base_url=CONTRACT, limits=limits, timeout=60) as c:

        async def one(i):
            async def body():
                for piece in pieces(RANDOM[: i * 500], 7_000):
                    yield piece

            echo = (await c.put(f"/pool/{i}?q={i}", content=body())).json()
            check("pool", (echo["target"], echo["body_len"]), (f"/pool/{i}?q={i}", i * 500))

        await asyncio.gather(*(one(i) for i in range(300)))
        # Cancelled requests give their connection up, and no answer to another.
        slow = [asyncio.create_task(c.get("/slow?ms=300")) for _ in range(10)]
        await asyncio.sleep(0.1)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        await asyncio.gather(*(one(i) for i in range(50)))


def main():
    for part in (files, uploads, keep_alive):
        part()
        print("ok", part.__name__)
    asyncio.run(pool())
    print("ok pool")


main()
