package daemon

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/config"
)

func TestProbeAsksTheFirstAddressThatItCanReach(t *testing.T) {
	secure := config.TLS{Certificate: "c.pem", Key: "k.pem"}
	authorities := config.TLS{Certificate: "c.pem", Key: "k.pem", ClientCA: "ca.pem"}
	for _, c := range []struct {
		config config.Config
		want   string // a URL, or a part of the error
	}{
		{config.Config{HTTP: "127.0.0.1:7600"}, "http://127.0.0.1:7600"},
		{config.Config{HTTP: "0.0.0.0:7600", TLS: secure}, "https://127.0.0.1:7600"},
		{config.Config{Admin: "[::]:7690"}, "http://[::1]:7690"},
		{config.Config{HTTP: "127.0.0.1:7600", Health: ":7680", TLS: authorities}, "http://127.0.0.1:7680"},
		{config.Config{HTTP: "127.0.0.1:7600", TLS: authorities}, "set health"},
		{config.Config{}, "set health"},
		{config.Config{HTTP: "127.0.0.1:0"}, "give a URL"},
	} {
		got, err := OwnProbeURL(c.config)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%+v: %s, want %s", c.config, got, c.want)
		}
	}
}

func TestDaemonIsLiveOnlyIfItSaysSo(t *testing.T) {
	d := start(t, settings(t.TempDir(), nil))
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }))
	for address, want := range map[string]bool{d.address: true, strings.TrimPrefix(other.URL, "http://"): false, "127.0.0.1:0": false} {
		if got := Live(t.Context(), Settings{HTTP: address}); got != want {
			t.Errorf("%s: live is %v", address, got)
		}
	}
	other.Close()
	if Live(t.Context(), Settings{HTTP: strings.TrimPrefix(other.URL, "http://")}) {
		t.Error("a server that is gone is live")
	}
}
