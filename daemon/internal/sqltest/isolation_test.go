//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
)

// TestSwapThatHangsAtItsCommitIsNotTakenForABound lets a swap hang at its commit, and its own sender read the register. A
// session at READ UNCOMMITTED shows it, and would take it for acknowledged; so a server at that level is refused. The store
// shows the value from before, which the server still has when it was killed.
func TestSwapThatHangsAtItsCommitIsNotTakenForABound(t *testing.T) {
	t.Parallel()
	s := mariaDB.on(testkit.MariaDB(t))
	// A server that notices that a client has gone rolls its swap back. This one does not
	// notice, as if the client's host had lost its power.
	network := testkit.NewProxy(t, s.server.Addr())
	network.HideEnds()
	client, err := openstore.Open(t.Context(), s.urlOf(testkit.SQLUser, "durable=true", network.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }() // its connections are broken
	before := servertest.Swap(t, client, "register", "", "before")
	shown := func(session *sql.Conn) string {
		return read[string](t, session, "SELECT value FROM snowfence_registers WHERE `key` = 'register'")
	}

	// A backup of the server stops its commits for a while.
	s.session(t, "READ-COMMITTED", "BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT")
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	ended := make(chan error, 1)
	go func() {
		_, err := client.Swap(ctx, "register", before, []byte("after"))
		ended <- err
	}()
	onlooker := s.session(t, "READ-UNCOMMITTED")
	testkit.Eventually(t, func(context.Context) error {
		if got := shown(onlooker); got != "after" {
			return fmt.Errorf("no swap hangs at its commit: %q", got)
		}
		return nil
	})
	giveUp()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a swap that hangs at its commit: %v", err)
	}
	for range 3 {
		if e, err := client.Get(t.Context(), "register"); err != nil || e.Version != before {
			t.Errorf("a swap that hangs is shown to its sender: %q (%v)", e.Value, err)
		}
	}
	network.Cut()
	s.server.Kill()
	s.server.Start()
	if got := shown(s.session(t, "READ-COMMITTED")); got != "before" {
		t.Errorf("the server recovered %q", got)
	}
}

// session makes a connection of an isolation level of its own, and runs statements on it.
func (s sqlServer) session(t *testing.T, level string, statements ...string) *sql.Conn {
	t.Helper()
	connection, err := s.admin(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	for _, statement := range append([]string{"SET SESSION tx_isolation = '" + level + "'"}, statements...) {
		if _, err := connection.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return connection
}
