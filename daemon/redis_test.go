//go:build servers

package daemon

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// TestLossyStoreWithoutADirectoryForAJournalIsWarnedOf is a daemon without HOME.
func TestLossyStoreWithoutADirectoryForAJournalIsWarnedOf(t *testing.T) {
	t.Parallel()
	s := settings("", nil)
	s.Store = "redis://" + testkit.Redis(t).Addr()
	start(t, s).logs(`level=WARN msg="without a journal a restart waits until the store can't lose the claim: set data or $HOME, no directory is known to keep one in" generator=default`)
}

// TestReplicaThatNothingBoundsIsInTheLog is about a lone Redis server whose loss
// is the default. The log shows what to set once its first replica ends the ids.
func TestReplicaThatNothingBoundsIsInTheLog(t *testing.T) {
	t.Parallel()
	primary := testkit.Redis(t)
	s := settings(t.TempDir(), nil)
	s.Store = "redis://" + primary.Addr()
	d := start(t, s)
	logged := func(texts ...string) {
		t.Helper()
		testkit.Eventually(t, func(context.Context) error { // the claim waits for the loss before it asks the server again
			for _, text := range texts {
				if log := d.log.String(); !strings.Contains(log, text) {
					return fmt.Errorf("the log lacks %q:\n%s", text, log)
				}
			}
			return nil
		})
	}
	logged("say loss= before you add a replica")
	testkit.RedisReplica(t, primary.Addr())
	if _, err := testkit.RedisCall(t.Context(), primary.Addr(), "CLIENT KILL TYPE normal"); err != nil {
		t.Fatal(err)
	}
	logged("min-replicas-to-write is", "or say loss=")
}
