package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"snowfence.example/snowfence/counter"
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

func TestSettingsThatCannotBeUsedAreRefused(t *testing.T) {
	for _, c := range []struct {
		settings map[string]string
		key      string // of the refused setting; "" if all are fine
	}{
		{map[string]string{"region": "EU"}, ""},
		{map[string]string{"region": "USA", "digits": "18"}, ""},
		{nil, "region"},
		{map[string]string{"region": "eu"}, "region"},
		{map[string]string{"region": "E"}, "region"},
		{map[string]string{"region": "EU\n"}, "region"},
		{map[string]string{"region": "EU", "digits": "3"}, "digits"},
		{map[string]string{"region": "EU", "digits": "19"}, "digits"},
		{map[string]string{"region": "EU", "digits": "eight"}, "digits"},
		{map[string]string{"region": "EU", "regoin": "EU"}, "regoin"},
	} {
		_, err := orderNumbers{}.Configure(c.settings)
		wrong := new(kind.SettingError)
		if (err == nil) != (c.key == "") || err != nil && (!errors.As(err, &wrong) || wrong.Key != c.key) {
			t.Errorf("%v: error is %v, want one of %q", c.settings, err, c.key)
		}
	}
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

func TestNumbersEndWhereTheDigitsDo(t *testing.T) {
	m := openMinter(t, memstore.New().Client(), map[string]string{"region": "EU", "digits": "4"})
	var b kind.Batch
	if err := m.Mint(t.Context(), 9999, &b); err != nil {
		t.Fatal(err)
	}
	if last := string(b.AppendID(nil, b.Len()-1)); last != "EU-9999-4" {
		t.Errorf("the last number is %s", last)
	}
	if err := m.Mint(t.Context(), 1, &b); !errors.Is(err, counter.ErrFull) || b.Len() != 9999 {
		t.Errorf("one more: error %v, %d in the batch", err, b.Len())
	}
}

// TestCheckDigitIsLuhns has the example of ISO/IEC 7812-1's algorithm in widest use, and numbers
// with one digit mistyped.
func TestCheckDigitIsLuhns(t *testing.T) {
	for digits, want := range map[string]int{"7992739871": 3, "0000": 0, "0001": 8, "4711": 8, "00004711": 8} {
		if got := checkDigit(digits); got != want {
			t.Errorf("%s: check digit is %d, want %d", digits, got, want)
		}
	}
	const right = "00004711"
	for i := range right {
		for _, digit := range "0123456789" {
			wrong := right[:i] + string(digit) + right[i+1:]
			if wrong != right && checkDigit(wrong) == checkDigit(right) {
				t.Errorf("%s has the check digit of %s", wrong, right)
			}
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

func TestWrongSettingIsNamedWithItsValue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "data: ids\ngenerators: {orders: {kind: order-number, settings: {region: europe}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	settings, err := load(daemon.Sources{File: file})
	if err == nil {
		err = daemon.Run(t.Context(), daemon.Config{Settings: settings}, orderNumbers{})
	}
	if err == nil || !strings.Contains(err.Error(), `generators.orders.settings.region: "europe": must be 2 or 3 capital letters`) {
		t.Errorf("error is %v", err)
	}
}
