// A server of HTTP/2 for the tests of the client. Arguments: address without TLS, address
// with TLS, certificate, key.
"use strict";

const fs = require("node:fs");
const http2 = require("node:http2");
const zlib = require("node:zlib");

const [plain, secure, cert, key] = process.argv.slice(2);
const text = "a line of text that compresses\n".repeat(2000);
const large = Buffer.from("0123456789abcdef".repeat(1 << 16));
const ran = new Map();

// collect calls f with the body of the request.
function collect(stream, f) {
  const parts = [];
  stream.on("data", (b) => parts.push(b));
  stream.on("end", () => f(Buffer.concat(parts)));
}

function answer(stream, fields, body) {
  stream.respond({ ":status": 200, ...fields });
  stream.end(body);
}

function handle(stream, head) {
  stream.on("error", () => {});
  const path = head[":path"];
  if (path.startsWith("/once/")) {
    // How often the request ran. Now and then the connection goes away after it.
    ran.set(path, (ran.get(path) || 0) + 1);
    if (ran.size % 50 === 0) stream.session.close();
    return collect(stream, (b) => answer(stream, { "x-ran": ran.get(path) }, path + " " + b));
  }
  switch (path) {
    case "/hello":
      return answer(stream, {}, "Hello, files!\n");
    case "/large":
      return answer(stream, { "content-length": large.length }, head[":method"] === "HEAD" ? undefined : large);
    case "/gzip":
      if (!(head["accept-encoding"] || "").includes("gzip")) return answer(stream, {}, text);
      return answer(stream, { "content-encoding": "gzip" }, zlib.gzipSync(text));
    case "/chunked":
      stream.respond({ ":status": 200 });
      for (const line of text.match(/.*\n/g)) stream.write(line);
      return stream.end();
    case "/slow": {
      // One timer after the other: those of a busy process need not fire in order.
      const lines = ["one\n", "two\n", "three\n"];
      stream.respond({ ":status": 200 });
      const next = () => (lines.length > 0 ? (stream.write(lines.shift()), setTimeout(next, 50)) : stream.end());
      return next();
    }
    case "/broken":
      stream.respond({ ":status": 200, "content-length": 1000 });
      stream.write("cut ");
      return setTimeout(() => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR), 10);
    case "/redirect":
      return answer(stream, { ":status": 302, location: "/hello" });
    case "/keep":
      return collect(stream, () => answer(stream, { ":status": 307, location: "/echo" }));
    case "/echo":
      return collect(stream, (b) => answer(stream, {}, b));
    case "/duplex":
      stream.respond({ ":status": 200 });
      return stream.pipe(stream);
    case "/trailers": {
      // The trailers of the request in the body, and a trailer after it.
      let trailers = {};
      stream.on("trailers", (t) => (trailers = t));
      return collect(stream, () => {
        stream.respond({ ":status": 200 }, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers({ "x-checksum": "abc" }));
        stream.end("x-sum=" + (trailers["x-sum"] || ""));
      });
    }
  }
  answer(stream, { ":status": 410 }, "gone");
}

function listen(server, addr) {
  const [host, port] = addr.split(":");
  server.on("stream", handle);
  server.on("sessionError", () => {});
  server.listen(port, host);
}

listen(http2.createSecureServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }), secure);
listen(http2.createServer(), plain);
