// Package clients contains only tests. They start the command and the contract server as
// processes, and send requests with programs that people use: curl, ab, wrk, Chromium,
// Python's httpx, Node's undici, and nginx and HAProxy as proxies. They also run Gale's
// client against nginx, Apache, Python's aiohttp, Node and net/http, and over HTTP/2 against
// nghttpd, nginx, h2o, Node, Python's hypercorn and net/http. A test whose program
// isn't installed is skipped, and says which program it looked for; testdata/README.md
// says how to get them.
//
// If the tests run with the race detector, the servers are built with it too, and a race
// that they report fails the test.
package clients
