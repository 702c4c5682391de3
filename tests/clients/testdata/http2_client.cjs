// Usage: node http2_client.cjs URL
// Sends 200 requests at a time on one connection to a contract server; prints "ok".
const assert = require("assert")
const crypto = require("crypto")
const http2 = require("http2")

const client = http2.connect(process.argv[2])
client.on("error", fail)

function fail(err) {
	console.error(err)
	process.exit(1)
}

function send(i) {
	return new Promise((resolve, reject) => {
		const body = crypto.randomBytes(i * 300)
		const req = client.request({ ":method": "POST", ":path": "/copy", "x-number": String(i) })
		const got = []
		let status
		req.on("response", (head) => { status = head[":status"] })
		req.on("data", (b) => got.push(b))
		req.on("error", reject)
		req.on("end", () => {
			try {
				assert.strictEqual(status, 200)
				assert(Buffer.concat(got).equals(body), "the body of request " + i)
				resolve()
			} catch (err) {
				reject(err)
			}
		})
		req.end(body)
	})
}

async function main() {
	await Promise.all(Array.from({ length: 200 }, (_, i) => send(i)))
	const gone = client.request({ ":path": "/slow?ms=10000" })
	await new Promise((resolve) => { gone.on("close", resolve); setTimeout(() => gone.close(http2.constants.NGHTTP2_CANCEL), 50) })
	await send(3)
	client.close()
	console.log("ok")
}

main().catch(fail)
