package gale

var ErrConnPoolStrategyNotImpl error

var ErrConnectionClosed error

var ErrHostClientRedirectToDifferentScheme error

var ErrMissingLocation error

var ErrNoAvailableClients error

var ErrNoFreeConns error

var ErrTooManyRedirects error
