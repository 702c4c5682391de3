package expvarhandler

import (
	"expvar"
	"fmt"
	"sync"

	"github.com/galehttp/gale"
)

// publishing keeps Publish from racing with itself.
var publishing sync.Mutex

// Publish makes what s counts, see gale.Server.Stats, a variable of package
// expvar, so that ExpvarHandler shows it: an object with the names of
// gale.Stats. It is read anew each time it is shown, which takes a look at each
// connection; requests pay nothing for it. Not in fasthttp.
//
// Variables can't be taken back: s stays in memory. A name that is taken is an
// error, which is what package expvar would end the program for; choose another
// one for each server. Publish is safe for concurrent use, but not with
// expvar.Publish for the same name.
func Publish(name string, s *gale.Server) error {
	publishing.Lock()
	defer publishing.Unlock()
	if expvar.Get(name) != nil {
		return fmt.Errorf("expvarhandler: there is a variable %q already: publish the server under another name", name)
	}
	expvar.Publish(name, expvar.Func(func() any { return s.Stats() }))
	return nil
}
