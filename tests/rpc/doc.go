// Package rpc contains only tests: gRPC and Connect on a Gale server, through package
// adaptor.
//
//   - TestInterop: the interop client of grpc-go against its own service, whose
//     grpc.Server is an http.Handler.
//   - TestConformance: connectrpc.com/conformance against a service of connect-go. What
//     fails must also fail on net/http's server.
//   - TestConformanceClient: the same suite against connect-go's client over Gale's.
//   - The other tests look at the life of calls: deadlines, cancellation, shutdowns,
//     panics, clients that leave.
//
// Commands conformance and conformanceclient are what the suite tests. Command cost
// compares what a call costs on Gale and on net/http. Package conformancev1 is generated:
// generate.sh.
//
// It is a module of its own, because it needs modules that the library doesn't.
package rpc
