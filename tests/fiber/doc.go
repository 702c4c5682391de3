// Package fiber compares applications of Fiber on fasthttp with the same applications on
// Gale. It has only tests, in a module of their own so that Gale's module doesn't depend on
// Fiber.
//
// The programs fiber2 and fiber3 have all middlewares of Fiber 2 and Fiber 3, each on paths of its
// own. The test builds both twice: with fasthttp, and with compat/fasthttp in its place. It
// sends the same bytes to both and compares the bytes of the answers. A difference must
// belong to a [row] of docs/moving/differences.md, and nothing else may differ then.
//
// By default a part of the requests is sent that meets every middleware. With GALE_FULL=1 in the
// environment all are sent, and each row must be met.
package fiber
