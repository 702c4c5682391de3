// The lab's server on Node, with nothing but its own modules. See servers/work/work.go for
// what it answers.
//
//	node main.js -addr HOST:PORT -workers N
'use strict';
const cluster = require('node:cluster');
const http = require('node:http');
const zlib = require('node:zlib');

const args = process.argv.slice(2);
const value = (name, otherwise) => (args.includes(name) ? args[args.indexOf(name) + 1] : otherwise);
const [host, port] = value('-addr', '127.0.0.1:8080').split(':');
const workers = Number(value('-workers', '1'));

const greeting = 'Hello, world!';
const plain = 'text/plain; charset=utf-8';
const fields = {
	'X-Request-Id': '0123456789abcdef0123456789abcdef',
	'Cache-Control': 'no-store, max-age=0',
	'X-Content-Type-Options': 'nosniff',
	'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
};

let long = '';
for (let i = 0; i < 256; i++) {
	long += `2026-01-02T03:04:05Z level=info request=${(i * 7919) % 10007} status=200 path=/items/${i * 31}\n`;
}

function dataset() {
	const items = [];
	for (let i = 0; i < 20; i++) {
		const price = 100 + i * 7;
		const quantity = 1 + (i % 5);
		items.push({ id: i + 1, name: 'item number', price, quantity, active: i % 2 === 0, tags: ['fast', 'small'], total: price * quantity });
	}
	return { count: items.length, items };
}

function answer(res, type, body, more) {
	res.writeHead(200, { Server: 'lab', 'Content-Type': type, 'Content-Length': Buffer.byteLength(body), ...more });
	res.end(body);
}

function collect(req, done) {
	const parts = [];
	req.on('data', (part) => parts.push(part));
	req.on('end', () => done(Buffer.concat(parts)));
}

const routes = {
	'GET /': (req, res) => answer(res, plain, greeting),
	'GET /fields': (req, res) => answer(res, plain, greeting, fields),
	'GET /sleep': (req, res) => setTimeout(() => answer(res, plain, greeting), 1),
	'POST /echo': (req, res) => collect(req, (body) => answer(res, 'application/octet-stream', body)),
	'POST /upload': (req, res) => {
		let n = 0;
		req.on('data', (part) => { n += part.length; });
		req.on('end', () => answer(res, plain, String(n)));
	},
	'POST /collect': (req, res) => collect(req, (body) => answer(res, plain, String(body.length))),
	'GET /json': (req, res) => answer(res, 'application/json', JSON.stringify(dataset())),
	'GET /compress': (req, res) => zlib.gzip(long, { level: 6 }, (err, body) => {
		if (err) throw err;
		answer(res, plain, body, { 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' });
	}),
};

function serve() {
	const server = http.createServer((req, res) => {
		const route = routes[`${req.method} ${req.url}`];
		if (route) return route(req, res);
		res.writeHead(404);
		return res.end();
	});
	server.keepAliveTimeout = 3600 * 1000;
	server.requestTimeout = 0;
	server.listen({ host, port: Number(port), backlog: 4096 });
}

if (workers > 1 && cluster.isPrimary) {
	for (let i = 0; i < workers; i++) cluster.fork();
} else {
	serve();
}
