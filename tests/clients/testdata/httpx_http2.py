"""Talks HTTP/2 to two contract servers through httpx: over TLS, and in the clear with prior knowledge. Arguments:
their URLs. Ends with a traceback at the first thing that is wrong."""

import asyncio
import hashlib
import random
import sys

import httpx

SECURE, CLEAR = sys.argv[1:]
DATA = random.Random(1).randbytes(600_000)


def check(what, got, want):
    if got != want:
        raise AssertionError(f"{what}: got {got!r:.300}, want {want!r:.300}")


async def talk(url, **how):
    async with httpx.AsyncClient(base_url=url, http2=True, timeout=60, **how) as c:
        r = await c.get("/stream")
        check("streamed answer", (r.http_version, r.status_code, r.text), ("HTTP/2", 200, "part1part2"))

        async def one(i):
            body = DATA[: i * 3000]
            r = await c.post("/copy", content=body, headers={"x-number": str(i)})
            check(f"copy {i}", (r.http_version, r.status_code, r.content == body), ("HTTP/2", 200, True))

        await asyncio.gather(*(one(i) for i in range(200)))
        echo = (await c.put("/up?a=b", content=DATA, headers={"cookie": "a=1; b=2"})).json()
        check("upload", (echo["target"], echo["body_sha1"]), ("/up?a=b", hashlib.sha1(DATA).hexdigest()))
        for status in (204, 304, 404, 500):
            r = await c.get(f"/status/{status}")
            check(f"status {status}", (r.status_code, r.text), (status, "" if status in (204, 304) else "BODY"))
        for _ in range(5):
            async with c.stream("GET", "/big?n=1000000") as r:  # given up after the first bytes
                async for _ in r.aiter_raw(1000):
                    break
        sent = asyncio.Semaphore(0)

        async def trace(event, _):
            if event == "http2.receive_response_headers.started":
                sent.release()

        # A request that is cancelled while httpx sends it breaks the connection.
        slow = [asyncio.create_task(c.get("/slow?ms=3000", extensions={"trace": trace})) for _ in range(10)]
        for _ in slow:
            await sent.acquire()
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        await asyncio.gather(*(one(i) for i in range(20)))


asyncio.run(talk(SECURE, verify=False))
asyncio.run(talk(CLEAR, http1=False))
print("ok")
