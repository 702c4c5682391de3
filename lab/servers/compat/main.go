// Compat is the lab's server on Fiber 2 with Gale in place of fasthttp. Its module replaces
// fasthttp, which is why it is one of its own.
package main

import "github.com/galehttp/gale/lab/servers/fiberapp"

func main() { fiberapp.Main() }
