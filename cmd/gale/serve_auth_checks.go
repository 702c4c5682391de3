package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// A check of a password by bcrypt takes 2 to 1000 ms of processor time. So right answers
// are remembered, and few checks run at a time. The others wait. Clients take turns, so
// that one that sends many passwords delays others by one check at a time.
const (
	// rightFor is how long a right password is remembered after its last use.
	rightFor = 5 * time.Minute
	// wrongFor is how long a wrong password is remembered.
	wrongFor = 10 * time.Second
	// maxRight and maxWrong are how many of each are remembered.
	maxRight = maxUsers
	maxWrong = 1024
	// maxWaiting is how many checks may wait, and maxClientWaiting how many of one
	// client.
	maxWaiting       = 256
	maxClientWaiting = 16
)

// credential is a name and password to check against a hash. The hash is that of another
// user if the name isn't known.
type credential struct {
	user, pass, hash string
	known            bool
}

// passwordChecks checks passwords with bcrypt.
type passwordChecks struct {
	digests sync.Pool // of *digester
	compare func(hash, pass string) bool
	most    int // checks that run at a time

	mu      sync.Mutex
	right   rememberedDigests
	wrong   rememberedDigests
	running int
	waiting int
	checks  map[digest]*check // that run or wait
	lines   map[netip.Prefix]*checkLine
	turns   []*checkLine // all of lines; the first one is next
}

// check is a comparison that runs or waits. Requests with equal credentials wait for the
// same one.
type check struct {
	id     digest
	cred   credential
	answer authAnswer
	done   chan struct{} // closed when answer is valid
}

// checkLine holds the checks of one client that wait. It has at least one.
type checkLine struct {
	client netip.Prefix
	checks []*check
}

func newPasswordChecks() *passwordChecks {
	key := randomKey()
	return &passwordChecks{
		digests: sync.Pool{New: func() any { return &digester{mac: hmac.New(sha256.New, key)} }},
		compare: func(hash, pass string) bool {
			return bcrypt.CompareHashAndPassword([]byte(hash), []byte(pass)) == nil
		},
		most:   max(1, runtime.NumCPU()/2),
		right:  rememberedDigests{most: maxRight, until: map[digest]time.Time{}},
		wrong:  rememberedDigests{most: maxWrong, until: map[digest]time.Time{}},
		checks: map[digest]*check{},
		lines:  map[netip.Prefix]*checkLine{},
	}
}

// answer decides on cred, which came from client. It blocks until the check has had its
// turn, unless the answer is remembered. The check runs on another goroutine: a handler
// of the event engine may wait, but it must not use the processor for long.
func (c *passwordChecks) answer(client netip.Prefix, cred credential, now time.Time) authAnswer {
	id := c.digest(cred)
	c.mu.Lock()
	switch {
	case c.right.has(id, now):
		c.right.add(id, now, rightFor)
		c.mu.Unlock()
		return authRight
	case c.wrong.has(id, now):
		c.mu.Unlock()
		return authWrong
	}
	k := c.checks[id]
	if k == nil {
		k = &check{id: id, cred: cred, done: make(chan struct{})}
		if refused := c.enqueue(client, k); refused != authRight {
			c.mu.Unlock()
			return refused
		}
	}
	c.mu.Unlock()
	<-k.done
	return k.answer
}

// enqueue makes k wait for its turn, and makes sure that a goroutine comes for it. It
// returns authRight, or why k can't wait. If too many wait in all, the newest check of
// the client with the most gives way. c.mu is held.
func (c *passwordChecks) enqueue(client netip.Prefix, k *check) authAnswer {
	line := c.lines[client]
	has := 0
	if line != nil {
		has = len(line.checks)
	}
	if has == maxClientWaiting {
		return authEnough
	}
	if c.waiting == maxWaiting {
		longest := line
		for _, l := range c.turns {
			if longest == nil || len(l.checks) > len(longest.checks) {
				longest = l
			}
		}
		if len(longest.checks) <= has+1 {
			return authBusy
		}
		last := len(longest.checks) - 1
		out := longest.checks[last]
		longest.checks = longest.checks[:last]
		c.waiting--
		c.finish(out, authEnough)
	}
	if line == nil {
		line = &checkLine{client: client}
		c.lines[client] = line
		c.turns = append(c.turns, line)
	}
	line.checks = append(line.checks, k)
	c.checks[k.id] = k
	c.waiting++
	if c.running < c.most {
		c.running++
		go c.run()
	}
	return authRight
}

// run does the checks that wait, until there are none.
func (c *passwordChecks) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.waiting > 0 {
		k := c.next()
		c.mu.Unlock()
		right := c.compare(k.cred.hash, k.cred.pass) && k.cred.known
		now := time.Now()
		c.mu.Lock()
		if right {
			c.right.add(k.id, now, rightFor)
			c.finish(k, authRight)
		} else {
			c.wrong.add(k.id, now, wrongFor)
			c.finish(k, authWrong)
		}
	}
	c.running--
}

// next takes the first check of the client whose turn it is. c.mu is held, and a check
// waits.
func (c *passwordChecks) next() *check {
	line := c.turns[0]
	c.turns = append(c.turns[:0], c.turns[1:]...)
	k := line.checks[0]
	line.checks = append(line.checks[:0], line.checks[1:]...)
	if len(line.checks) > 0 {
		c.turns = append(c.turns, line)
	} else {
		delete(c.lines, line.client)
	}
	c.waiting--
	return k
}

// finish gives the answer to the requests that wait for k. c.mu is held.
func (c *passwordChecks) finish(k *check, answer authAnswer) {
	delete(c.checks, k.id)
	k.answer = answer
	close(k.done)
}

// digest stands for a credential. A new hash of the user makes it a different one.
type digest [sha256.Size]byte

// digester makes digests. Its key is random, so digests tell nothing without it.
type digester struct {
	mac hash.Hash
	buf []byte
}

func (c *passwordChecks) digest(cred credential) (id digest) {
	d := c.digests.Get().(*digester)
	b := d.buf[:0]
	for _, s := range []string{cred.user, cred.pass, cred.hash} {
		b = append(b, s...)
		b = append(b, 0) // none of them contains this byte
	}
	if cred.known {
		b = append(b, 1)
	}
	d.mac.Reset()
	d.mac.Write(b)
	clear(b) // no copy of a password stays
	b = d.mac.Sum(b[:0])
	copy(id[:], b)
	d.buf = b
	c.digests.Put(d)
	return id
}

// rememberedDigests is a set of at most most digests, each until a time.
type rememberedDigests struct {
	until map[digest]time.Time
	most  int
}

func (r *rememberedDigests) has(id digest, now time.Time) bool {
	until, found := r.until[id]
	return found && now.Before(until)
}

// add remembers id for d. If there is no room, the one that ends first gives way.
func (r *rememberedDigests) add(id digest, now time.Time, d time.Duration) {
	if _, found := r.until[id]; !found && len(r.until) >= r.most {
		r.makeRoom(now)
	}
	r.until[id] = now.Add(d)
}

func (r *rememberedDigests) makeRoom(now time.Time) {
	var first digest
	var end time.Time
	for id, until := range r.until {
		if !now.Before(until) {
			delete(r.until, id)
		} else if end.IsZero() || until.Before(end) {
			first, end = id, until
		}
	}
	if len(r.until) >= r.most {
		delete(r.until, first)
	}
}
