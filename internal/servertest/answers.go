package servertest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/testkit"
)

// No answer of a server ends the program, or takes up its memory.
func noAnswerEndsTheProgram(t *testing.T, b bed) {
	h := b.Hostile
	h.Server = b.server.Addr()
	h.Use = func(ctx context.Context, address string) error {
		s, err := b.Open(ctx, b.URL(b.at(address)))
		if err != nil {
			return err
		}
		return errors.Join(testkit.UseStore(ctx, s), s.Close())
	}
	testkit.HostileAnswers(t, h)
}

// FuzzAnswers holds readers of a protocol to the same result for bytes that come at once and one by one.
func FuzzAnswers(f *testing.F, seeds []string, readers ...func() storeclient.Answers) {
	f.Helper()
	for _, seed := range seeds {
		f.Add([]byte(seed[:min(len(seed), 1000)]))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, reader := range readers {
			whole, parts := reader(), reader()
			wrong := whole.Take(b)
			var wrongPart error
			for i := 0; i < len(b) && wrongPart == nil; i++ {
				wrongPart = parts.Take(b[i : i+1])
			}
			if (wrong == nil) != (wrongPart == nil) {
				t.Errorf("whole: %v; byte by byte: %v", wrong, wrongPart)
			}
		}
	})
}

// FuzzURLs holds an engine to return a config that it takes again and that shows no password, or else an error alone.
func FuzzURLs[C Config](f *testing.F, parse func(string) (C, error), seeds ...string) {
	f.Helper()
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		c, err := parse(url)
		fields := reflect.ValueOf(c)
		if err != nil {
			if !fields.IsZero() {
				t.Errorf("%q: an error (%v) with a config", url, err)
			}
			return
		}
		loss, durable, endpoints := fields.FieldByName("Loss").Int(), fields.FieldByName("Durable"), fields.FieldByName("Endpoints")
		if endpoints.IsValid() && endpoints.Len() == 0 || loss < 0 || loss > 0 && durable.IsValid() && durable.Bool() {
			t.Errorf("%q: is taken for %v", url, c)
		}
		// A long password does not stand in another field by chance, unless the URL has it twice.
		field := fields.FieldByName("Password")
		if password := field.String(); field.IsValid() && len(password) > 8 && strings.Count(url, password) == 1 && strings.Contains(show(c), password) {
			t.Errorf("%q: shows its password as %v", url, c)
		}
	})
}
