//go:build !race

package peers

import (
	"context"
)

func OrBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
