// Package compat tests that WebSocket libraries made for fasthttp run on Gale through
// compat/fasthttp: fasthttp/websocket, alone and in Fiber 3, and gofiber/contrib's in Fiber 2.
package compat
