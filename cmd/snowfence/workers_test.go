package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/imports"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/filestore"
)

// line is one line of JSON of the verbs that stream.
type line struct {
	Type, State, Error, Action, Severity, Check string
	Worker                                      *int64
	Workers                                     json.RawMessage
	Registers                                   int64
	Applied                                     bool
}

func lines(t *testing.T, text string) []line {
	t.Helper()
	var all []line
	for part := range strings.Lines(text) {
		var l line
		if err := json.Unmarshal([]byte(part), &l); err != nil {
			t.Fatalf("%s: %v", part, err)
		}
		all = append(all, l)
	}
	return all
}

// inStore is a program of a test's own with a namespace in a file store, and that
// store opened beside it.
func inStore(t *testing.T, l snowfence.Layout) (p program, stdout, stderr *strings.Builder, s *filestore.Store, folder string) {
	t.Helper()
	p, stdout, stderr = inTest(t)
	folder = filepath.Join(t.TempDir(), "store")
	s, err := filestore.Open(t.Context(), filestore.Config{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	h, err := fence.Open(t.Context(), fence.Config{Store: s, Layout: l, Worker: new(int64)}) // no test is about worker 0
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p, stdout, stderr, s, folder
}

func TestWhatCannotBeReadIsListedAndIsAnErrorToVerify(t *testing.T) {
	l := snowfence.DefaultLayout()
	p, stdout, stderr, s, folder := inStore(t, l)
	for number, value := range map[int64]string{3: "not json", 4: `{"format":2}`, 5: "torn"} {
		if _, err := s.Swap(t.Context(), stored.RegisterKey("default", l, number), "", []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	// The file of worker 5 is cut short: the store itself can't read it.
	cut := ""
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), "torn") {
				cut = path
				return os.WriteFile(path, data[:len(data)/2], 0o600)
			}
		}
		return err
	})
	if err != nil || cut == "" {
		t.Fatalf("no file of worker 5: %v", err)
	}
	if code := p.run(t.Context(), "workers", "list", "--store", "file:"+folder, "-o", "json"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	found := lines(t, stdout.String())
	if len(found) != 5 || found[4].Type != "pool" || found[4].Registers != 4 {
		t.Fatalf("list: %s", stdout)
	}
	for i, x := range found[1:4] {
		if x.Error == "" || x.Worker == nil || *x.Worker != int64(3+i) {
			t.Errorf("%+v", x)
		}
	}
	at := "file:" + folder
	said, _ := p.must(t, exitFailure, "namespace", "verify", "--store", at, "-o", "json")
	if found = lines(t, said); len(found) != 4 || found[0].Severity != "error" || found[0].Check != "readable" || found[3].Type != "verdict" {
		t.Errorf("verify: %s", said)
	}
	if said, _ := p.must(t, exitOK, "workers", "show", "5", "--store", at); !strings.Contains(said, "unreadable\n") {
		t.Errorf("show: %s", said)
	}
	p.must(t, exitFailure, "workers", "release", "5", "--yes", "--store", at)
	p.must(t, exitFailure, "workers", "quarantine", "5", "--yes", "--store", at)
}

// FuzzParseWorkerList holds that a list has its text's numbers, and is never too long.
func FuzzParseWorkerList(f *testing.F) {
	for _, seed := range []string{"all", "0", "0-31,40", "3-1", "1-", "-1", "0-9223372036854775807", "4611686018427387903-4611686018427387903", "1,,2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		numbers, all, err := parseWorkerList(text)
		if err != nil {
			return
		}
		if all != (text == "all") || len(numbers) > imports.MaxWorkers || !all && len(numbers) == 0 {
			t.Fatalf("%q: %v, %d numbers", text, all, len(numbers))
		}
		for _, n := range numbers {
			if n < 0 {
				t.Fatalf("%q: %d", text, n)
			}
		}
	})
}

// later is a clock that is ahead.
type later struct {
	snowfence.Clock
	by time.Duration
}

func (l later) Wall() time.Time { return l.Clock.Wall().Add(l.by) }

func TestReleaseInAFullPoolSaysForHowLongThereAreNoIDs(t *testing.T) {
	l, err := snowfence.ParseLayout("ms41-worker1-seq21@2026-01-01")
	if err != nil {
		t.Fatal(err)
	}
	p, stdout, stderr, s, folder := inStore(t, l)
	for i, want := range []string{"if one is free; worker 0 can be claimed from ", "no other worker id is free, so a holder that lives gives no ids until one is; worker 0 can be claimed from "} {
		worker := int64(i)
		h, err := fence.Open(t.Context(), fence.Config{Store: s, Layout: l, Worker: &worker})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close(context.Background()) })
		stdout.Reset()
		if code := p.run(t.Context(), "workers", "release", "0", "--store", "file:"+folder); code != exitOK || !strings.Contains(stdout.String(), want) {
			t.Errorf("%d holders: exit code %d: %s%s", i+1, code, stdout, stderr)
		}
	}
}
