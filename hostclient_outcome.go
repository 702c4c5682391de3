package gale

// carryOutcome says what has become of a request that was given to a connection. An error stands
// beside it, not in its place.
type carryOutcome uint8

const (
	// carryDone: there is a response, or its head if the body is streamed. There is no error.
	carryDone carryOutcome = iota
	// carryFailed: there is an error, and the request must not be sent again.
	carryFailed
	// carryRetry: there is an error, and it makes sense to send the request again; see call.verdict.
	carryRetry
	// carryStale: the connection, which had been idle, is dead. Nothing was sent. Its place in the
	// pool is still that of the call. There is no error.
	carryStale
	// carryFull: the connection takes no more requests. Nothing was sent, and the call has no place
	// in the pool. There is no error.
	carryFull
)

// carryOf returns what err, the error of an exchange or nil, makes of the request.
func carryOf(err error) carryOutcome {
	switch err {
	case nil:
		return carryDone
	case ErrBodyTooLarge:
		return carryFailed
	}
	return carryRetry
}
