// A peer in a page of a browser. Its result is that of the clients of peer.cjs, one text.
(async (base) => {
	const status = (e) => (e.code === 1006 && !e.wasClean ? 'aborted' : `${e.code} ${e.reason}`.trim());

	async function open(path, id) {
		const ws = new WebSocket(`${base}${path}?${id}`);
		ws.binaryType = 'arraybuffer';
		const queue = [];
		let wake = () => {};
		const put = (item) => {
			queue.push(item);
			wake();
		};
		ws.onmessage = (e) => put({ data: e.data });
		ws.onclose = (e) => put({ end: status(e) });
		ws.receive = async () => {
			while (queue.length === 0) await new Promise((resolve) => (wake = resolve));
			return queue.shift();
		};
		await new Promise((resolve, reject) => {
			ws.onopen = resolve;
			ws.onerror = () => reject(new Error('no WebSocket'));
		});
		return ws;
	}

	function equal(a, b) {
		if (typeof a === 'string' || typeof b === 'string') return a === b;
		const x = new Uint8Array(a), y = new Uint8Array(b);
		return x.length === y.length && x.every((v, i) => v === y[i]);
	}

	async function echo(ws, data) {
		ws.send(data);
		const got = await ws.receive();
		if (got.end !== undefined) throw new Error(`closed: ${got.end}`);
		if (!equal(got.data, data)) throw new Error('the echo differs');
	}

	async function end(ws, want) {
		ws.send('go');
		const got = await ws.receive();
		if (got.end !== want) throw new Error(`the end is ${got.end}, not ${want}`);
	}

	async function echoes(ws) {
		for (const text of ['hello', '', 'Grüße, 世界! 🙂 '.repeat(1 << 16)]) await echo(ws, text);
		for (const n of [0, 4, 125, 126, 65535, 65536, 1 << 20]) {
			await echo(ws, new Uint8Array(n).map((_, i) => i * i).buffer);
		}
		ws.close(4001, 'bye');
		const got = await ws.receive();
		if (got.end === undefined || !got.end.startsWith('4001')) throw new Error(`the end is ${got.end}`);
	}

	const conversations = [
		['/echo', '4001 bye', echoes],
		['/deflate', '4001 bye', async (ws) => {
			if (!ws.extensions.includes('permessage-deflate')) throw new Error('no compression');
			await echoes(ws);
		}],
		['/ping', '-', async (ws) => {
			ws.send('hello');
			if ((await ws.receive()).data !== 'pong hello') throw new Error('no pong');
		}],
		['/close', '4002 enough', (ws) => end(ws, '4002 enough')],
		['/abort', '-', (ws) => end(ws, 'aborted')],
		['/echo', '-', async (ws) => {
			await echo(ws, 'hello');
			ws.close(); // without a status code
			if ((await ws.receive()).end !== '1005') throw new Error('a code came');
		}],
	];
	const lines = [];
	for (const [number, [path, want, talk]] of conversations.entries()) {
		let result = 'ok';
		try {
			const ws = await open(path, number);
			await talk(ws);
			ws.close();
		} catch (e) {
			result = e.message;
		}
		lines.push(`${number}\t${want}\t${path}: ${result}\n`);
	}
	return lines.join('');
})
