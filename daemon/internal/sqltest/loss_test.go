//go:build servers

package sqltest

import (
	"errors"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/sqlstore"
)

// TestDefaultLossOfSQLCoversALagOfTenSeconds and leaves room for it in the
// default window, but not in a pinned worker's, which is refused by name.
func TestDefaultLossOfSQLCoversALagOfTenSeconds(t *testing.T) {
	const lag, measured, fast = 10 * time.Second, 2 * time.Second, 2000 // a fast clock's margin is a part in that many
	if least := (lag + measured) + (lag+measured)/fast; sqlstore.DefaultLoss < least {
		t.Errorf("the default loss is %v, must be at least %v", sqlstore.DefaultLoss, least)
	}
	config := lease.Config{Layout: snowfence.DefaultLayout(), Loss: sqlstore.DefaultLoss}
	if _, err := lease.New(config); err != nil {
		t.Errorf("with the default window: %v", err)
	}
	config.Worker = new(int64)
	var refused *stored.ConfigError
	if _, err := lease.New(config); !errors.As(err, &refused) || refused.Field != "window" {
		t.Errorf("pinned, with its default window: %v, want a window that is refused", err)
	}
	config.Window = 3*sqlstore.DefaultLoss + time.Second
	if _, err := lease.New(config); err != nil {
		t.Errorf("pinned, with a window of %v: %v", config.Window, err)
	}
}
