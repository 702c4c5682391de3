// Talks to both servers through undici. Arguments: URL of the command's server,
// URL of the contract server, the folder that the command serves. Ends with a
// stack at the first thing that is wrong.
"use strict";

const assert = require("node:assert/strict");
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const { Readable, Writable } = require("node:stream");
const { Agent, Client, Pool, fetch, request, setGlobalDispatcher } = require("undici");

const [files, contract, folder] = process.argv.slice(2);
const text = fs.readFileSync(path.join(folder, "text.txt"));
const random = fs.readFileSync(path.join(folder, "rand.bin"));
const sha1 = (b) => createHash("sha1").update(b).digest("hex");

function* pieces(b, size) {
  for (let i = 0; i < b.length; i += size) yield b.subarray(i, i + size);
}

async function bytes(body) {
  return Buffer.from(await body.arrayBuffer());
}

const parts = {
  async fetchFiles() {
    let r = await fetch(files + "/rand.bin");
    assert.equal(r.status, 200);
    assert.ok(random.equals(Buffer.from(await r.arrayBuffer())));
    r = await fetch(files + "/text.txt"); // compressed, decoded by fetch
    assert.ok(r.headers.get("content-encoding"));
    assert.ok(text.equals(Buffer.from(await r.arrayBuffer())));
    r = await fetch(files + "/text.txt", { headers: { "if-none-match": r.headers.get("etag") } });
    assert.equal(r.status, 304);
    r = await fetch(files + "/rand.bin", { headers: { range: "bytes=-50" } });
    assert.equal(r.status, 206);
    assert.ok(random.subarray(-50).equals(Buffer.from(await r.arrayBuffer())));
    r = await fetch(files + "/rand.bin", { method: "HEAD" });
    assert.equal(r.headers.get("content-length"), String(random.length));
    assert.equal(await r.text(), "");
  },

  async keepAlive() {
    let connects = 0;
    const client = new Client(files);
    client.on("connect", () => connects++);
    for (let i = 0; i < 200; i++) {
      const { statusCode, body } = await client.request({ path: i % 3 ? "/hello.txt" : "/none", method: "GET" });
      assert.equal(statusCode, i % 3 ? 200 : 404);
      assert.notEqual(await body.text(), "");
    }
    assert.equal(connects, 1);
    // undici ends connections after HEAD by itself, as servers get it wrong.
    const { statusCode, body } = await client.request({ path: "/hello.txt", method: "HEAD" });
    assert.equal(statusCode, 200);
    assert.equal(await body.text(), "");
    await client.close();
  },

  async pipelining() {
    let connects = 0;
    const client = new Client(contract, { pipelining: 10 });
    client.on("connect", () => connects++);
    const one = async (i) => {
      const { statusCode, body } = await client.request({ path: "/pipelined/" + i, method: "GET" });
      assert.equal(statusCode, 200);
      assert.equal((await body.json()).target, "/pipelined/" + i);
    };
    await Promise.all(Array.from({ length: 500 }, (_, i) => one(i)));
    // Bodies are sent in between, and answers of unknown length.
    const mixed = async (i) => {
      if (i % 3 === 0) {
        const { body } = await client.request({ path: "/stream", method: "GET" });
        assert.equal(await body.text(), "part1part2");
        return;
      }
      const b = random.subarray(0, i * 100);
      const { body } = await client.request({ path: "/put/" + i, method: "PUT", body: b });
      assert.equal((await body.json()).body_sha1, sha1(b));
    };
    await Promise.all(Array.from({ length: 100 }, (_, i) => mixed(i)));
    await client.close();
    assert.equal(connects, 1);
  },

  async streams() {
    const pool = new Pool(contract, { connections: 4 });
    const want = sha1(random);
    for (const body of [random, Readable.from(pieces(random, 65536)), Readable.from(pieces(random, 777))]) {
      const r = await pool.request({ path: "/up", method: "POST", body });
      const echo = await r.body.json();
      assert.equal(echo.body_sha1, want);
      assert.equal(echo.body_len, random.length);
    }
    await pool.close();
    const hash = createHash("sha1");
    const sink = new Writable({ write(chunk, _, done) { hash.update(chunk); setImmediate(done); } });
    const client = new Client(files);
    await client.stream({ path: "/rand.bin", method: "GET" }, () => sink);
    assert.equal(hash.digest("hex"), want);
    await client.close();
  },

  async aborts() {
    const pool = new Pool(contract, { connections: 8 });
    const names = new Set();
    for (let i = 0; i < 24; i++) {
      const controller = new AbortController();
      const sent = pool.request({ path: "/slow?ms=200", method: "GET", signal: controller.signal });
      setTimeout(() => controller.abort(), 50);
      await sent.then(() => assert.fail("not aborted"), (e) => names.add(e.name));
    }
    assert.deepEqual([...names], ["AbortError"]);
    // An upload that stops in the middle of a chunk.
    for (let i = 0; i < 8; i++) {
      const controller = new AbortController();
      const body = Readable.from((async function* () {
        yield random.subarray(0, 100000);
        controller.abort();
        yield random;
      })());
      await assert.rejects(pool.request({ path: "/up", method: "POST", body, signal: controller.signal }));
    }
    // A download that is given up.
    const downloads = new Pool(files, { connections: 4 });
    for (let i = 0; i < 8; i++) {
      const { body } = await downloads.request({ path: "/rand.bin?" + i, method: "GET" });
      for await (const chunk of body) {
        assert.ok(chunk.length > 0);
        break;
      }
    }
    // Whoever comes next gets his own answer.
    await Promise.all(Array.from({ length: 100 }, async (_, i) => {
      const { body } = await pool.request({ path: "/own/" + i, method: "GET" });
      assert.equal((await body.json()).target, "/own/" + i);
    }));
    const { body } = await downloads.request({ path: "/rand.bin", method: "GET" });
    assert.ok(random.equals(await bytes(body)));
    await pool.close();
    await downloads.close();
  },

  async closing() {
    // Connections that the handler closes are replaced.
    setGlobalDispatcher(new Agent({ connections: 1 }));
    for (let i = 0; i < 20; i++) {
      const { body } = await request(contract + (i % 2 ? "/close" : "/open"));
      await body.text();
    }
    const { statusCode, body } = await request(contract + "/status/204", { method: "DELETE" });
    assert.equal(statusCode, 204);
    assert.equal(await body.text(), "");
  },
};

(async () => {
  for (const [name, part] of Object.entries(parts)) {
    await part();
    console.log("ok", name);
  }
})().catch((e) => {
  console.error(e);
  process.exit(1);
});
