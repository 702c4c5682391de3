// Package lifetimes tests what finds uses of a request after its end, with programs.
//
// The programs in bad/ keep what isn't theirs: a context, a message, or bytes of it, after
// the handler has returned or after a release to a pool. Those in good/ look alike and are
// right. Most come in pairs. They follow what users of fasthttp and Fiber reported.
//
// The comment at the top of each program says:
//
//   - category: what kind of mistake it is, or looks like.
//   - level: 1 within one function; 2 through helpers, closures, packages, derived values; 3
//     depends on the path that is taken, on interfaces, or on pools of the program.
//   - after: the reports that it follows.
//   - run: what is kept, and options of the requests that the driver sends.
//
// What is kept decides what the guard must do:
//
//   - object: a context, message, header, URI, arguments. Each use is reported.
//   - bytes: slices and unsafe strings of a request, or of an object of a pool. Each read is
//     reported if the bytes are on pages of their own. Otherwise they are overwritten.
//   - pool: an object of a pool after its release. Each use is reported, and a second
//     release too.
//   - framework: objects or bytes of Fiber, which Gale doesn't know.
//   - stream: used by the body of a response. It is used after the handler has returned,
//     but the request hasn't ended by then.
//   - paged: bytes in the body of a response. Each read is reported if the bytes are on pages
//     of their own.
//   - vet: for the analyzer alone. The program doesn't run.
//   - ok: nothing. No report, and the same results as without the guard.
//
// A comment "BAD" at the end of a line says that the analyzer must report something there.
// Lines with the same number, as in "BAD:1", are one mistake, and one report at any of them
// is enough. Any report in a program of good/ is a false alarm.
//
// A program is a package with a Handler. One that keeps something has a Show, which uses
// it. One without Show logs a line for each request with package audit, mostly when the
// handler has returned: it calls slow.Work before. The programs are small on purpose: they
// use maps and slices without locks, because the driver sends one request after the other.
package lifetimes

//go:generate go run ./list
