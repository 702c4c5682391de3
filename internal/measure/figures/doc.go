// Package figures holds what a run of a load generator measured: the document that gale
// bench writes as JSON and that reports, comparisons and the lab read.
//
// # Units
//
// Durations in the document are int64 nanoseconds, and their names end in _ns. Shares are
// between 0 and 1. Histograms are HdrHistogram in its V2 compressed encoding, base64, with
// values in nanoseconds, so that runs can be merged without loss.
//
// # Latency
//
// In a closed loop, the latency of a request begins when its first byte is handed to the
// kernel. In an open loop it begins at the intended start, which the schedule gives, so
// that a server that stops answering can't hide it. It ends when the last byte of the
// response was read.
package figures
