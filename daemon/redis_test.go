//go:build servers

package daemon

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

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
// is the default. Somebody must read of its first replica before ids end.
func TestReplicaThatNothingBoundsIsInTheLog(t *testing.T) {
	t.Parallel()
	primary := testkit.Redis(t)
	s := settings(t.TempDir(), nil)
	s.Store = "redis://" + primary.Addr()
	d := start(t, s)
	logged := func(want string) {
		t.Helper()
		// The claim waits for the loss of 15 s before it asks the server again.
		testkit.Eventually(t, func(context.Context) error {
			if !strings.Contains(d.log.String(), want) {
				return fmt.Errorf("the log lacks %q:\n%s", want, d.log)
			}
			return nil
		})
	}
	logged("level=WARN msg=\"the loss of 15s is the default: say loss= before you add a replica")
	testkit.RedisReplica(t, primary.Addr())
	if _, err := testkit.RedisCall(t.Context(), primary.Addr(), "CLIENT KILL TYPE normal"); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	logged("level=ERROR msg=\"nothing bounds any more what a failover of the Redis server loses")
	t.Logf("logged %v later", time.Since(begun))
}
