package gale

import (
	"net"
	"time"
)

func AppendHTMLEscape([]byte, string) []byte { panic("stub") }

func AppendHTMLEscapeBytes([]byte, []byte) []byte { panic("stub") }

func AppendHTTPDate([]byte, time.Time) []byte { panic("stub") }

func AppendIPv4([]byte, net.IP) []byte { panic("stub") }

func AppendNormalizedHeaderKey([]byte, string) []byte { panic("stub") }

func AppendNormalizedHeaderKeyBytes([]byte, []byte) []byte { panic("stub") }

func AppendUint([]byte, int) []byte { panic("stub") }

func AppendUnquotedArg([]byte, []byte) []byte { panic("stub") }

func ParseHTTPDate([]byte) (time.Time, error) { panic("stub") }

func ParseIPv4(net.IP, []byte) (net.IP, error) { panic("stub") }

func ParseUfloat([]byte) (float64, error) { panic("stub") }

func ParseUint([]byte) (int, error) { panic("stub") }

func VisitHeaderParams([]byte, func([]byte, []byte) bool) { panic("stub") }
