package gale

const MethodConnect = "CONNECT"

const MethodDelete = "DELETE"

const MethodGet = "GET"

const MethodHead = "HEAD"

const MethodOptions = "OPTIONS"

const MethodPatch = "PATCH"

const MethodPost = "POST"

const MethodPut = "PUT"

const MethodQuery = "QUERY"

const MethodTrace = "TRACE"
