// Package compress turns bytes into content codings and back: gzip, deflate,
// br and zstd (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).
//
// Encoders and decoders are large, so they are pooled, by coding and level.
// A body in memory goes through [Append] and [AppendDecoded], a stream through
// [Writer]. Decoding is limited by its output, never by what the input claims
// about itself, and a decoder's own memory is bounded: 8 MiB of window for
// zstd (RFC 9659), 16 MiB for br, 32 KiB for the others.
//
// [Negotiate] reads Accept-Encoding and [Compressible] judges media types.
package compress
