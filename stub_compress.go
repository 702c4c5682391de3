package gale

import (
	"io"
)

const CompressBestCompression = 9

const CompressBestSpeed = 1

const CompressBrotliBestCompression = 11

const CompressBrotliBestSpeed = 0

const CompressBrotliDefaultCompression = 4

const CompressBrotliNoCompression = 0

const CompressDefaultCompression = 6

const CompressHuffmanOnly = -2

const CompressNoCompression = 0

const CompressZstdBestCompression = 4

const CompressZstdBestSpeed = 1

const CompressZstdDefault = 2

const CompressZstdSpeedBetter = 3

const CompressZstdSpeedNotSet = 0

func AppendBrotliBytes([]byte, []byte) []byte { panic("stub") }

func AppendBrotliBytesLevel([]byte, []byte, int) []byte { panic("stub") }

func AppendDeflateBytes([]byte, []byte) []byte { panic("stub") }

func AppendDeflateBytesLevel([]byte, []byte, int) []byte { panic("stub") }

func AppendGunzipBytes([]byte, []byte) ([]byte, error) { panic("stub") }

func AppendGzipBytes([]byte, []byte) []byte { panic("stub") }

func AppendGzipBytesLevel([]byte, []byte, int) []byte { panic("stub") }

func AppendInflateBytes([]byte, []byte) ([]byte, error) { panic("stub") }

func AppendUnbrotliBytes([]byte, []byte) ([]byte, error) { panic("stub") }

func AppendUnzstdBytes([]byte, []byte) ([]byte, error) { panic("stub") }

func AppendZstdBytes([]byte, []byte) []byte { panic("stub") }

func AppendZstdBytesLevel([]byte, []byte, int) []byte { panic("stub") }

func CompressHandler(RequestHandler) RequestHandler { panic("stub") }

func CompressHandlerBrotliLevel(RequestHandler, int, int) RequestHandler { panic("stub") }

func CompressHandlerLevel(RequestHandler, int) RequestHandler { panic("stub") }

func WriteBrotli(io.Writer, []byte) (int, error) { panic("stub") }

func WriteBrotliLevel(io.Writer, []byte, int) (int, error) { panic("stub") }

func WriteDeflate(io.Writer, []byte) (int, error) { panic("stub") }

func WriteDeflateLevel(io.Writer, []byte, int) (int, error) { panic("stub") }

func WriteGunzip(io.Writer, []byte) (int, error) { panic("stub") }

func WriteGzip(io.Writer, []byte) (int, error) { panic("stub") }

func WriteGzipLevel(io.Writer, []byte, int) (int, error) { panic("stub") }

func WriteInflate(io.Writer, []byte) (int, error) { panic("stub") }

func WriteUnbrotli(io.Writer, []byte) (int, error) { panic("stub") }

func WriteUnzstd(io.Writer, []byte) (int, error) { panic("stub") }

func WriteZstdLevel(io.Writer, []byte, int) (int, error) { panic("stub") }
