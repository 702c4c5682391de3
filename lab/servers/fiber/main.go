// Fiber is the lab's server on Fiber 2, which is built on fasthttp.
package main

import "github.com/galehttp/gale/lab/servers/fiberapp"

func main() { fiberapp.Main() }
