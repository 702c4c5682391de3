package client

import (
	"testing"

	"github.com/galehttp/gale/tests/harness/peers"
)

func TestMain(m *testing.M) { peers.Main(m) }
