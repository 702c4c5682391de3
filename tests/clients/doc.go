// Package clients holds no code. Its tests start the command and the contract
// server as processes and let the programs talk to them that people use: curl,
// ab, wrk, Chromium, Python's httpx, Node's undici, nginx and HAProxy as
// proxies. The other way round the client talks to nginx, Apache, Python's
// aiohttp, Node and net/http. A test whose program isn't installed is skipped,
// and says what it looked for; testdata/README.md says how to get them.
//
// Under the race detector the servers are built with it too, and a race that
// they report fails the test.
package clients
