package servertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

func documentedRightsSuffice(t *testing.T, b bed) {
	server, own, strangers := b.Login(t)
	own.Addresses = []string{server.Addr()}
	s := b.open(t, own)
	version := Swap(t, s, "key", "", "value")
	for name, call := range calls(s, version) {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if shown := show(s); strings.Contains(shown, own.Password) {
		t.Errorf("the store is shown as %s", shown)
	}
	// The login outlives the connection.
	server.Kill()
	server.Start()
	testkit.Eventually(t, func(ctx context.Context) error { _, err := s.Get(ctx, "key"); return err })
	e, err := s.Get(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	Swap(t, s, "key", e.Version, "after")
	for name, p := range strangers {
		p.Addresses = own.Addresses
		if err := b.refused(t.Context(), p); err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), own.Password) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// refused opens and reads as a stranger, and returns the first refusal. A register
// that a stranger may not read is neither absent nor damaged.
func (b bed) refused(ctx context.Context, p Place) error {
	s, err := b.Open(ctx, b.URL(p))
	if err != nil {
		return err
	}
	if _, err = s.Get(ctx, "key"); errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged) {
		err = nil
	}
	return errors.Join(err, s.Close())
}

func passwordFileMayChange(t *testing.T, b bed) {
	server, path := b.Start(t), filepath.Join(t.TempDir(), "password")
	set := func(password string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b.SetPassword(t, server, "changing", password)
	}
	set("first")
	p := b.at(server.Addr())
	p.Query = "user=changing&password-file=" + path
	s := b.open(t, p)
	version := Swap(t, s, "key", "", "value")
	set("second")
	testkit.Eventually(t, func(ctx context.Context) error { _, err := s.Get(ctx, "key"); return err })
	Swap(t, s, "key", version, "again")
}

func tlsIsVerified(t *testing.T, b bed) {
	ours, others := testkit.NewAuthority(t), testkit.NewAuthority(t)
	certificate, key := ours.Issue(t, "server", "127.0.0.1")
	secure := b.TLS(t, ours.File, certificate, key)
	certificate, key = ours.Issue(t, "client")
	strange, strangeKey := others.Issue(t, "client")
	with := func(authority, certificate, key string) string {
		return fmt.Sprintf("tls=true&ca=%s&cert=%s&key=%s", authority, certificate, key)
	}
	at := func(address, query string) Place {
		p := b.at(address)
		p.Query = query
		return p
	}
	Swap(t, b.open(t, at(secure, with(ours.File, certificate, key))), "key", "", "value")
	for name, test := range map[string]struct {
		place Place
		want  string // a part of the error
	}{
		"other authority":    {at(secure, with(others.File, certificate, key)), "unknown authority"},
		"other name":         {at(strings.Replace(secure, "127.0.0.1", "localhost", 1), with(ours.File, certificate, key)), "localhost"},
		"system authorities": {at(secure, "tls=true"), "unknown authority"},
		"strange client":     {at(secure, with(ours.File, strange, strangeKey)), ""},
		"no certificate":     {at(secure, "tls=true&ca="+ours.File), ""},
		"plain to TLS":       {at(secure, ""), ""},
		"TLS to plain":       {at(b.server.Addr(), with(ours.File, certificate, key)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait
			// A handshake may take longer than one attempt.
			testkit.Eventually(t, func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
				defer cancel()
				s, err := b.Open(ctx, b.URL(test.place))
				if err == nil {
					t.Fatal(errors.Join(errors.New("opened"), s.Close()))
				}
				if !strings.Contains(err.Error(), test.want) {
					return fmt.Errorf("the error is %w, want %q", err, test.want)
				}
				return nil
			})
		})
	}
}
