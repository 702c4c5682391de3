package scale

// perRequest are the words that several loops write for a request, and why that must be.
// The test fails for any other.
var perRequest = map[string]string{
	"static.File.refs": "an open file (of more than 8 KiB) is closed when its last response is sent, so all of its responses count in one word",
}

// perConn are the words that several loops write for each connection, and why. Those of
// the event engine are written if each loop has a listener (-listeners). With one
// listener, handedOver are written too.
var perConn = map[string]string{
	"gale.serverStats.open":     "Concurrency limits the connections of all loops, exactly",
	"gale.serverStats.accepted": "Stats; it is in the cache line of open, which was just written",
	"gale.connIDs":              "ConnID is unique in the process",
	"gale.serverRun.mu":         "the server looks whether it is drained when its last connection ends",

	"gale.workers.mu":      "the block engine gives a connection to the goroutine that became idle last, whoever accepted it",
	"gale.workers.waiting": "the block engine accepts no more than its goroutines begin to serve",
	"gale.worker.jobs":     "a goroutine of the block engine gets its connection by a channel",
	"engine.Block.mu":      "the block engine has one list of all connections, for Shutdown and to make room",
}

// handedOver are words of a loop, or of a connection, that the loop that accepts writes
// before it hands the connection to another loop.
var handedOver = map[string]string{
	"engine.loop.mu":          "the loop that accepts enters the connection in the table of the other loop",
	"engine.loop.conns":       "the loop with the fewest connections gets the next one",
	"engine.loop.holds":       "a loop runs as long as it has connections",
	"engine.wheel.mu":         "the loop that accepts sets the first timeout of a connection",
	"engine.wheelLink.due":    "the loop that accepts sets the first timeout of a connection",
	"engine.wheelLink.queued": "the loop that accepts sets the first timeout of a connection",
	"engine.eventConn.word":   "the loop that accepts is the first owner of a connection",
	"engine.eventConn.mu":     "the loop that accepts is the first owner of a connection",
}

// rare are words that several loops write now and then: not for each request or
// connection, but when a pool, a timer or a goroutine has to be made, or when an object of
// a pool has moved to another loop.
var rare = map[string]string{
	"engine.numbers.mu":   "a workspace was made",
	"gale.spread[].n":     "a workspace has moved to another loop with its counter",
	"engine.calm.guarded": "the guard of a loop was set or looked at",
	"engine.calm.is":      "a handler has blocked, or none has for a while",
	"engine.calm.again":   "a handler has blocked",
	"engine.worker.call":  "a goroutine of a loop was called",
}

// why returns the reason for a word, "" if there is none.
func why(word string) string {
	for _, reasons := range []map[string]string{perRequest, perConn, handedOver, rare} {
		if reasons[word] != "" {
			return reasons[word]
		}
	}
	return ""
}
