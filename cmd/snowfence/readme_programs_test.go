//go:build servers

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

// programs are the blocks of Go: the README's first program, and from docs/library.md the service, its store in a
// folder, in etcd and in PostgreSQL, and a test.
func (r readme) programs(t *testing.T) (first, service, folder, etcd, postgres, test string) {
	t.Helper()
	b := r.blocks("go")
	if len(b) != 6 {
		t.Fatalf("README.md and docs/library.md have %d programs, want 6", len(b))
	}
	return b[0], b[1], b[2], b[3], b[4], b[5]
}

func TestProgramThatTheREADMEShowsFirstMakesAnID(t *testing.T) {
	t.Parallel()
	r := readREADME(t)
	first, _, _, _, _, test := r.programs(t)
	folder := r.built(t, map[string]string{"main.go": first, "main_test.go": test}, "go", "build", "-o", "program", "&&", "go", "vet", ".", "&&", "go", "test", ".")
	seen := once[string]{}
	for range 2 {
		command := exec.CommandContext(t.Context(), "./program")
		command.Dir = folder
		id := strings.TrimSpace(output(t, command))
		if _, err := snowfence.Parse(id); err != nil {
			t.Errorf("it prints %s", id)
		}
		seen.take(t, "the program", id)
	}
}

// TestProgramsOfTheREADMEServeFromTheirStores runs the service on a real store of each kind, and ends it as a
// service manager does. Its worker id is free then, so a second start finds it.
func TestProgramsOfTheREADMEServeFromTheirStores(t *testing.T) {
	t.Parallel()
	r := readREADME(t)
	_, service, folder, etcd, postgres, _ := r.programs(t)
	data := filepath.Join(t.TempDir(), "ids")
	databaseURL, _ := database(t, "postgres")
	for name, store := range map[string]struct{ file, variable string }{
		"folder":   {strings.Replace(folder, "/var/lib/orders/ids", data, 1), ""},
		"etcd":     {etcd, "STORE=" + testkit.StartEngine(t, "etcd").URL("", 0)},
		"postgres": {postgres, "DATABASE_URL=" + databaseURL + "?sslmode=disable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := r.built(t, map[string]string{"main.go": service, "store.go": store.file}, "go", "build", "-o", "program", "&&", "go", "vet", ".") + "/program"
			seen := once[string]{}
			for range 2 {
				s := startService(t, program, store.variable)
				for range 3 {
					id := s.order()
					if _, err := snowfence.Parse(id); err != nil {
						t.Errorf("it answers %q", id)
					}
					seen.take(t, "the service", id)
				}
				s.end()
			}
		})
	}
}

// TestProgramOfTheREADMEEndsThoughItsStoreIsAway lets the service end while its store's registers are
// away. With its default window it may take two request timeouts of ten seconds.
func TestProgramOfTheREADMEEndsThoughItsStoreIsAway(t *testing.T) {
	t.Parallel()
	r := readREADME(t)
	_, service, folder, _, _, _ := r.programs(t)
	data := filepath.Join(t.TempDir(), "ids")
	program := r.built(t, map[string]string{"main.go": service, "store.go": strings.Replace(folder, "/var/lib/orders/ids", data, 1)}, "go", "build", "-o", "program") + "/program"
	s := startService(t, program, "")
	s.order()
	defer testkit.TakeFolder(t, data)()
	s.end()
}

// service is the service of docs/library.md as a process.
type service struct {
	t       *testing.T
	command *exec.Cmd
	address string
	log     bytes.Buffer
}

func startService(t *testing.T, program, variable string) *service {
	t.Helper()
	s := &service{t: t, address: fmt.Sprint("127.0.0.1:", testkit.FreePort(t)), command: exec.CommandContext(t.Context(), program)}
	s.command.Stderr = &s.log
	s.command.Env = append(os.Environ(), "LISTEN="+s.address, variable)
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// order asks for an id until the service is there.
func (s *service) order() (id string) {
	s.t.Helper()
	testkit.Eventually(s.t, func(ctx context.Context) error {
		answer, err := askBy(ctx, http.DefaultClient, http.MethodPost, "http://"+s.address+"/orders")
		if err == nil && answer.status != http.StatusOK {
			s.t.Fatalf("%d: %s", answer.status, answer.body)
		}
		id = strings.TrimSpace(answer.body)
		return err
	})
	return id
}

// end asks the service to end, and wants that it ends well.
func (s *service) end() {
	s.t.Helper()
	late := time.AfterFunc(testkit.Hang, func() { _ = s.command.Process.Kill() })
	defer late.Stop()
	if err := errors.Join(s.command.Process.Signal(syscall.SIGTERM), s.command.Wait()); err != nil {
		s.t.Errorf("it ended with %v: %s", err, &s.log)
	}
}
