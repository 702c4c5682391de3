package gale

const StatusAccepted = 202

const StatusAlreadyReported = 208

const StatusBadGateway = 502

const StatusBadRequest = 400

const StatusConflict = 409

const StatusContinue = 100

const StatusCreated = 201

const StatusEarlyHints = 103

const StatusExpectationFailed = 417

const StatusFailedDependency = 424

const StatusForbidden = 403

const StatusFound = 302

const StatusGatewayTimeout = 504

const StatusGone = 410

const StatusHTTPVersionNotSupported = 505

const StatusIMUsed = 226

const StatusInsufficientStorage = 507

const StatusInternalServerError = 500

const StatusLengthRequired = 411

const StatusLocked = 423

const StatusLoopDetected = 508

const StatusMethodNotAllowed = 405

const StatusMisdirectedRequest = 421

const StatusMovedPermanently = 301

const StatusMultiStatus = 207

const StatusMultipleChoices = 300

const StatusNetworkAuthenticationRequired = 511

const StatusNoContent = 204

const StatusNonAuthoritativeInfo = 203

const StatusNotAcceptable = 406

const StatusNotExtended = 510

const StatusNotFound = 404

const StatusNotImplemented = 501

const StatusNotModified = 304

const StatusOK = 200

const StatusPartialContent = 206

const StatusPaymentRequired = 402

const StatusPermanentRedirect = 308

const StatusPreconditionFailed = 412

const StatusPreconditionRequired = 428

const StatusProcessing = 102

const StatusProxyAuthRequired = 407

const StatusRequestEntityTooLarge = 413

const StatusRequestHeaderFieldsTooLarge = 431

const StatusRequestTimeout = 408

const StatusRequestURITooLong = 414

const StatusRequestedRangeNotSatisfiable = 416

const StatusResetContent = 205

const StatusSeeOther = 303

const StatusServiceUnavailable = 503

const StatusSwitchingProtocols = 101

const StatusTeapot = 418

const StatusTemporaryRedirect = 307

const StatusTooManyRequests = 429

const StatusUnauthorized = 401

const StatusUnavailableForLegalReasons = 451

const StatusUnprocessableEntity = 422

const StatusUnsupportedMediaType = 415

const StatusUpgradeRequired = 426

const StatusUseProxy = 305

const StatusVariantAlsoNegotiates = 506
