package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/kind/kindtest"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// openMinter opens a generator on a store.
func openMinter(t *testing.T, s store.Store, settings map[string]string) kind.Minter {
	t.Helper()
	open, err := orderNumbers{}.Configure(settings)
	if err != nil {
		t.Fatal(err)
	}
	m, err := open(t.Context(), kind.Spec{Generator: "orders", Store: s, Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.(kind.Closer).Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestOrderNumbersKeepTheRulesOfMinters(t *testing.T) {
	kindtest.TestMinter(t, func(t *testing.T) kind.Minter {
		return openMinter(t, memstore.New().Client(), map[string]string{"region": "EU"})
	})
}

func TestGeneratorsOfARegionCountTogether(t *testing.T) {
	s := memstore.New()
	seen := map[string]bool{}
	for _, region := range []string{"EU", "EU", "US"} {
		var b kind.Batch
		if err := openMinter(t, s.Client(), map[string]string{"region": region}).Mint(t.Context(), 50, &b); err != nil {
			t.Fatal(err)
		}
		for text := range b.Texts() {
			if seen[string(text)] {
				t.Errorf("%s was minted twice", text)
			}
			seen[string(text)] = true
		}
	}
}

func TestDaemonServesOrderNumbersBesideItsOwnKinds(t *testing.T) {
	settings, err := load(daemon.Sources{
		File:  "config.yaml",
		Flags: map[string]string{"data": t.TempDir(), "http": "127.0.0.1:0", "resp": "", "grpc": "", "thrift": ""},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	listening, serving, ended := make(chan string, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- daemon.Run(ctx, daemon.Config{
			Settings:  settings,
			Listening: func(_, url string) { listening <- url },
			Serving:   func() { close(serving) },
		}, orderNumbers{})
	}()
	select {
	case <-serving:
	case err := <-ended:
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(<-listening, "://")
	if got, want := mint(t, address, "orders", 2), []string{"EU-00000001-8", "EU-00000002-6"}; !slices.Equal(got, want) {
		t.Errorf("order numbers are %q, want %q", got, want)
	}
	if got := mint(t, address, "default", 1); len(got) != 1 || strings.Contains(got[0], "-") {
		t.Errorf("fenced ids are %q", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the end: %v", err)
	}
}

// mint asks a daemon for ids.
func mint(t *testing.T, address, generator string, n int) []string {
	t.Helper()
	url := "http://" + address + "/v1/generators/" + generator + "/ids?count=" + strconv.Itoa(n)
	response, err := http.Post(url, "", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ IDs []string }
	if err := json.Unmarshal(body, &answer); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s: %v", url, response.Status, body, err)
	}
	return answer.IDs
}
