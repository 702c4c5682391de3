// Package fiber has the names of the framework that the tests use.
package fiber

type Ctx struct{}

func (c *Ctx) Params(key string) string         { return "" }
func (c *Ctx) Locals(key any, value ...any) any { return nil }
func (c *Ctx) Next() error                      { return nil }

type App struct{}

func New() *App { return nil }

func (a *App) Get(path string, h func(*Ctx) error) {}
