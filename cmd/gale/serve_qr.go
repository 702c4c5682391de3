package main

import (
	"image/color"
	"io"
	"os"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// quietZone is the width of the light margin around a QR code, in modules (ISO/IEC 18004).
const quietZone = 4

// qrCode is the square of modules of a QR code, without its margin.
type qrCode struct {
	size int
	dark []bool
}

// newQRCode returns the smallest code for text. On a screen nothing gets dirty, so the
// lowest level of error correction is enough.
func newQRCode(text string) (*qrCode, error) {
	code, err := qr.Encode(text, qr.L, qr.Unicode)
	if err != nil {
		return nil, err
	}
	q := &qrCode{size: code.Bounds().Dx()}
	for y := range q.size {
		for x := range q.size {
			q.dark = append(q.dark, code.At(x, y) == color.Black)
		}
	}
	return q, nil
}

// isDark reports whether the module is dark. Those outside of the code are light.
func (q *qrCode) isDark(x, y int) bool {
	return x >= 0 && y >= 0 && x < q.size && y < q.size && q.dark[y*q.size+x]
}

// Characters for two modules, one above the other, by which of them are ink.
const (
	noInk    = " "
	upperInk = "▀"
	lowerInk = "▄"
	fullInk  = "█"
)

// Black ink on a white ground, in colors that themes of terminals don't change: those of
// the cube of 256 colors.
const (
	inkOnPaper = "\x1b[38;5;16;48;5;231m"
	plainAgain = "\x1b[0m"
)

// text draws the code with its margin. With colors, dark modules are black ink on white,
// so that the code has the right colors on every terminal. Without, light modules are ink,
// which is right on a dark terminal.
func (q *qrCode) text(colors bool) string {
	chars := [4]string{noInk, upperInk, lowerInk, fullInk}
	if !colors {
		chars = [4]string{fullInk, lowerInk, upperInk, noInk}
	}
	var b strings.Builder
	for y := -quietZone; y < q.size+quietZone; y += 2 {
		if colors {
			b.WriteString(inkOnPaper)
		}
		for x := -quietZone; x < q.size+quietZone; x++ {
			i := 0
			if q.isDark(x, y) {
				i |= 1
			}
			if q.isDark(x, y+1) {
				i |= 2
			}
			b.WriteString(chars[i])
		}
		if colors {
			b.WriteString(plainAgain)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// isTerminal reports whether w is a terminal, or another device for characters.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// hasColors reports whether w is a terminal that shows colors (no-color.org).
func hasColors(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
