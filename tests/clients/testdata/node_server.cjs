// A server for the tests of the client. Arguments: address for http, address
// for https, certificate, key.
"use strict";

const fs = require("node:fs");
const http = require("node:http");
const https = require("node:https");
const zlib = require("node:zlib");

const [plain, secure, cert, key] = process.argv.slice(2);
const text = "a line of text that compresses\n".repeat(2000);
const large = Buffer.from("0123456789abcdef".repeat(1 << 16));

function handle(req, res) {
  switch (req.url) {
    case "/hello":
      return res.end("Hello, files!\n");
    case "/large":
      res.setHeader("Content-Length", large.length);
      return res.end(large);
    case "/gzip":
      if (!(req.headers["accept-encoding"] || "").includes("gzip")) return res.end(text);
      res.setHeader("Content-Encoding", "gzip");
      return res.end(zlib.gzipSync(text));
    case "/chunked":
      for (const line of text.match(/.*\n/g)) res.write(line);
      return res.end();
    case "/slow": {
      // One timer after the other: those of a busy process need not fire in order.
      const lines = ["one\n", "two\n", "three\n"];
      const next = () => (lines.length > 0 ? (res.write(lines.shift()), setTimeout(next, 50)) : res.end());
      return next();
    }
    case "/broken":
      res.setHeader("Content-Length", 1000);
      res.write("cut ");
      return setTimeout(() => res.destroy(), 10);
    case "/redirect":
      res.writeHead(302, { Location: "/hello" });
      return res.end();
    case "/keep":
      res.writeHead(307, { Location: "/echo" });
      return req.resume().on("end", () => res.end());
    case "/echo": {
      // Not piped: with TLS some versions of Node close connections on which
      // they stopped reading for a while (HPE_PAUSED).
      const parts = [];
      return req.on("data", (b) => parts.push(b)).on("end", () => res.end(Buffer.concat(parts)));
    }
  }
  res.writeHead(410);
  res.end("gone");
}

function listen(server, addr) {
  const [host, port] = addr.split(":");
  server.listen(port, host);
}

listen(https.createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, handle), secure);
listen(http.createServer(handle), plain);
