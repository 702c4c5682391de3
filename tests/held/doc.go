// Package held holds no code. Its tests prove that what a server or a client holds grows with
// the bytes that a peer has sent, by a small factor, for each buffer and each list that a peer
// can make grow: server_test.go has what servers hold, client_test.go what clients hold. Each
// row says how many bytes may be held for each byte that was sent, and how many besides. These
// are the factors of the design and the limits of docs/reference. Stacks of goroutines, what
// the operating system holds, and what pools keep don't count.
//
// The race detector changes what objects take, so the tests don't run with it.
//
// Other tests have what many streams or calls of a connection hold together, and how many
// frames a peer may send:
//
//   - TestH2CollectedBodies, TestH2Unsent, TestH2Holds and TestH2Floods of package gale for
//     servers, TestH2ResponsesHeld for clients;
//   - TestClientFloods, TestQueueIsBounded and TestManyHeldResets of internal/h2;
//   - TestMemoryOfPartialMessages and TestConnFloods of package ws;
//   - TestMemory of package reverse.
package held
