package expvarhandler

import (
	"expvar"
	"fmt"
	"sync"

	"github.com/galehttp/gale"
)

// publishing serializes calls of Publish.
var publishing sync.Mutex

// Publish makes the counters of s (see gale.Server.Stats) a variable of package expvar,
// so that ExpvarHandler sends it. The variable is a JSON object with the field names of
// gale.Stats. Each read of the variable calls Stats, which looks at every connection;
// requests pay nothing for it.
//
// A variable can't be removed, so s stays in memory. If the name is already in use,
// Publish returns an error (expvar.Publish would end the program): choose a different
// name for each server. Publish is safe for concurrent use, but not concurrently with
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
