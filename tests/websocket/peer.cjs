// A peer on ws for Node (https://github.com/websockets/ws).
//
//   node peer.cjs client BASE   talks to the server at BASE, such as ws://127.0.0.1:1234
//   node peer.cjs server        serves, see doc.go, until the standard input ends
//
// The client prints a line for each conversation: its id, how the server must see its end ("-"
// for any), and "ok" or what went wrong. The server prints its port, and then a line for each
// connection that has ended: its id and how.
'use strict';
const { WebSocket, WebSocketServer } = require('ws');
const { once } = require('events');
const { randomFillSync } = require('crypto');

const status = (code, reason) => (code === 1006 ? 'aborted' : `${code} ${reason}`.trim());

async function receive(ws) {
	if (ws.queue.length === 0) await once(ws, 'queued');
	return ws.queue.shift();
}

// open returns a WebSocket whose messages, and at last its end, are in queue.
async function open(base, path, id, deflate) {
	const ws = new WebSocket(`${base}${path}?${id}`, { perMessageDeflate: deflate, maxPayload: 1 << 26, rejectUnauthorized: false });
	ws.queue = [];
	const put = (item) => {
		ws.queue.push(item);
		ws.emit('queued');
	};
	ws.on('message', (data, binary) => put({ data, binary }));
	ws.on('close', (code, reason) => put({ end: status(code, reason) }));
	ws.on('error', () => {});
	await once(ws, 'open');
	return ws;
}

async function echo(ws, data) {
	ws.send(data);
	const got = await receive(ws);
	if (got.end !== undefined) throw new Error(`closed: ${got.end}`);
	if (got.binary !== (typeof data !== 'string') || Buffer.compare(got.data, Buffer.from(data)) !== 0) {
		throw new Error(`the echo of ${data.length} differs`);
	}
}

async function end(ws, want) {
	ws.send('go');
	const got = await receive(ws);
	if (got.end !== want) throw new Error(`the end is ${JSON.stringify(got.end)}, not ${want}`);
}

async function echoes(ws, largest) {
	const random = randomFillSync(Buffer.alloc(largest));
	for (const text of ['hello', '', 'Grüße, 世界! 🙂 '.repeat(1 << 16)]) await echo(ws, text);
	for (const n of [4, 125, 126, 65535, 65536, largest]) await echo(ws, random.subarray(0, n));
	ws.close(4001, 'bye');
	const got = await receive(ws);
	if (got.end === undefined || !got.end.startsWith('4001')) throw new Error(`the end is ${got.end}`);
}

// conversations: path, the end that the server must see, what happens.
const conversations = [
	['/echo', '4001 bye', (ws) => echoes(ws, 16 << 20)],
	['/deflate', '4001 bye', async (ws) => {
		if (!ws.extensions.includes('permessage-deflate')) throw new Error('no compression');
		await echoes(ws, 1 << 20);
	}],
	['/echo', '-', async (ws) => {
		ws.ping('are you there?');
		const [data] = await once(ws, 'pong');
		if (data.toString() !== 'are you there?') throw new Error('another pong');
		await echo(ws, 'after a ping');
	}],
	['/ping', '-', async (ws) => {
		ws.send('hello');
		const got = await receive(ws);
		if (!got.data || got.data.toString() !== 'pong hello') throw new Error('no pong');
	}],
	['/close', '4002 enough', (ws) => end(ws, '4002 enough')],
	['/echo', 'aborted', async (ws) => {
		await echo(ws, 'hello');
		ws.terminate();
	}],
	['/abort', '-', (ws) => end(ws, 'aborted')],
];

async function client(base) {
	for (const [number, [path, want, talk]] of conversations.entries()) {
		let result = 'ok';
		try {
			const ws = await open(base, path, number, path === '/deflate');
			await talk(ws);
			ws.terminate();
		} catch (e) {
			result = e.message;
		}
		console.log(`${number}\t${want}\t${path}: ${result}`);
	}
}

function server() {
	const s = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: true, maxPayload: 1 << 26 });
	s.on('listening', () => console.log(s.address().port));
	s.on('connection', (ws, request) => {
		const [path, id] = request.url.split('?');
		ws.on('error', () => {});
		ws.on('close', (code, reason) => console.log(`${id}\t${status(code, reason)}`));
		ws.on('message', (data, binary) => {
			switch (path) {
				case '/ping':
					ws.once('pong', () => ws.send(`pong ${data}`));
					ws.ping('are you there?');
					break;
				case '/close':
					ws.close(4002, 'enough');
					break;
				case '/abort':
					ws.terminate();
					break;
				default:
					ws.send(data, { binary });
			}
		});
	});
	process.stdin.resume().on('end', () => process.exit(0));
}

if (process.argv[2] === 'server') server();
else client(process.argv[3]);
