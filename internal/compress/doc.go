// Package compress encodes and decodes content codings: gzip, deflate, br and zstd
// (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).
//
// Encoders and decoders are large, so they are pooled, by coding and level. For a
// body in memory use [Append] and [AppendDecoded], for a stream [Writer] and
// [Reader]. Limits of decoding apply to the output, never to what the input
// declares. A decoder's own memory is bounded: 8 MiB of window for zstd (RFC 9659),
// 16 MiB for br, 32 KiB for the others.
//
// [Negotiate] evaluates Accept-Encoding. [Compressible] says which media types are
// worth compressing.
package compress
