package openstore

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/testkit"
)

// TestEveryEngineLetsAHolderCloseThoughItIsAway closes holders without a deadline
// whose server was killed, or is stopped and silent. The file store has no server:
// somebody takes its registers.
func TestEveryEngineLetsAHolderCloseThoughItIsAway(t *testing.T) {
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := testkit.StartEngine(t, name)
			ways := map[string]func(*testing.T) (back func()){
				"killed": func(*testing.T) func() { e.Server.Kill(); return e.Server.Start },
				"silent": func(*testing.T) func() { e.Server.Pause(); return e.Server.Resume },
			}
			if e.Server == nil {
				ways = map[string]func(*testing.T) func(){"taken": func(t *testing.T) func() {
					u, err := url.Parse(e.URL("", 0))
					if err != nil {
						t.Fatal(err)
					}
					return testkit.TakeFolder(t, u.Opaque+u.Path)
				}}
			}
			for way, leave := range ways {
				t.Run(way, func(t *testing.T) {
					s := at(t, e.URL("", time.Second))
					h, err := fence.Open(t.Context(), fence.Config{Store: s, Window: 6 * time.Second, ClaimWait: time.Minute})
					if err != nil {
						t.Fatal(err)
					}
					defer leave(t)()
					begun := time.Now()
					err = h.Close(context.Background())
					var rests *fence.NotReleasedError
					if !errors.As(err, &rests) || rests.Until.Before(begun) {
						t.Error(err)
					}
					t.Logf("after %s: %v", time.Since(begun).Round(time.Millisecond), err)
					_ = s.Close() // an error, where the store is away
				})
			}
		})
	}
}
