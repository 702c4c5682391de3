package gale

func (ErrBodyStreamWritePanic) Error() string { panic("stub") }

func (ErrBrokenChunk) Error() string { panic("stub") }

func (ErrNothingRead) Error() string { panic("stub") }

func (ErrSmallBuffer) Error() string { panic("stub") }

func (EscapeError) Error() string { panic("stub") }

func (InvalidHostError) Error() string { panic("stub") }

type ErrBodyStreamWritePanic struct {
}

type ErrBrokenChunk struct {
}

type ErrNothingRead struct {
}

type ErrSmallBuffer struct {
}

type EscapeError string

type InvalidHostError string

type ReadCloserWithError interface {
	CloseWithError(error) error
	Read([]byte) (int, error)
}

var ErrAlreadyServing error

var ErrBadTrailer error

var ErrBodyTooLarge error

var ErrConcurrencyLimit error

var ErrContentEncodingUnsupported error

var ErrDeadlineUpdatesDisabled error

var ErrDuplicateContentLength error

var ErrEmptyRequestURI error

var ErrExtraWhitespaceInRequestLine error

var ErrGetOnly error

var ErrInvalidCookieValue error

var ErrMissingFile error

var ErrMissingRequestMethod error

var ErrNeedMore error

var ErrNilConnection error

var ErrNoArgValue error

var ErrNoCookies error

var ErrNoMultipartForm error

var ErrNonNumericChars error

var ErrPerIPConnLimit error

var ErrReadingResponseHeaders error

var ErrReadingResponseTrailer error

var ErrRedirectBodyStream error

var ErrResponseFirstLineMissingSpace error

var ErrSmallReadBuffer error

var ErrTLSHandshakeTimeout error

var ErrTimeout error

var ErrUnexpectedStatusCodeChar error

var ErrUnsupportedRequestMethod error

var ErrUnsupportedTransferEncoding error

var ErrorInvalidURI error
