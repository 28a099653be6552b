package natsstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// bad are settings of buckets that may drop a register or spoil it, by the
// name of the setting.
var bad = map[string]func(*jetstream.StreamConfig){
	"storage":                   func(s *jetstream.StreamConfig) { s.Storage = jetstream.MemoryStorage },
	"retention":                 func(s *jetstream.StreamConfig) { s.Retention = jetstream.InterestPolicy },
	"discard":                   func(s *jetstream.StreamConfig) { s.Discard = jetstream.DiscardOld },
	"discard_new_per_subject":   func(s *jetstream.StreamConfig) { s.DiscardNewPerSubject = true },
	"max_msgs_per_subject":      func(s *jetstream.StreamConfig) { s.MaxMsgsPerSubject = 64 },
	"max_age":                   func(s *jetstream.StreamConfig) { s.MaxAge = time.Hour },
	"sealed":                    func(s *jetstream.StreamConfig) { s.Sealed = true },
	"no_ack":                    func(s *jetstream.StreamConfig) { s.NoAck = true },
	"subjects":                  func(s *jetstream.StreamConfig) { s.Subjects = []string{"$KV.snowfence.other.>"} },
	"max_msg_size":              func(s *jetstream.StreamConfig) { s.MaxMsgSize = 4096 },
	"sources":                   func(s *jetstream.StreamConfig) { s.Sources = []*jetstream.StreamSource{{Name: "other"}} },
	"mirror":                    func(s *jetstream.StreamConfig) { s.Mirror, s.Subjects = &jetstream.StreamSource{Name: "other"}, nil },
	"num_replicas":              func(s *jetstream.StreamConfig) { s.Replicas = 1 },
	"allow_msg_ttl":             func(s *jetstream.StreamConfig) { s.AllowMsgTTL = true },
	"subject_delete_marker_ttl": func(s *jetstream.StreamConfig) { s.SubjectDeleteMarkerTTL = time.Hour },
	"persist_mode":              func(s *jetstream.StreamConfig) { s.PersistMode = jetstream.AsyncPersistMode },
	"allow_msg_counter":         func(s *jetstream.StreamConfig) { s.AllowMsgCounter = true },
	"subject_transform": func(s *jetstream.StreamConfig) {
		s.SubjectTransform = &jetstream.SubjectTransformConfig{Source: ">", Destination: "x.>"}
	},
}

// bucketOf returns a config with its defaults, and the settings of a new bucket.
func bucketOf(t *testing.T, c Config) (Config, jetstream.StreamConfig) {
	t.Helper()
	c, err := c.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	settings, err := c.newBucket()
	if err != nil {
		t.Fatal(err)
	}
	return c, settings
}

func TestBucketThatMayDropRegistersIsRefused(t *testing.T) {
	server := testkit.NATS(t)
	js := raw(t, server.Addr())
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for setting, spoil := range bad {
		c := of(server.Addr(), func(c *Config) {
			if setting == "num_replicas" {
				c.Replicas = 3
			}
		})
		full, settings := bucketOf(t, c)
		if err := full.judge(settings); err != nil {
			t.Fatalf("a new bucket is refused: %v", err)
		}
		spoil(&settings)
		var refused *ServerError
		if err := full.judge(settings); !errors.As(err, &refused) || refused.Setting != setting {
			t.Errorf("%s: judged %v", setting, err)
		}

		// And with the server, as far as it knows the setting and lets it be.
		if stream, err := js.CreateStream(t.Context(), settings); err != nil || full.judge(stream.CachedInfo().Config) == nil {
			_ = js.DeleteStream(t.Context(), full.stream())
			continue
		}
		tried++
		if err := servertest.Refusal(t, Open, c); !errors.As(err, &refused) || refused.Setting != setting {
			t.Errorf("%s: opened with %v", setting, err)
		}
		if err := js.DeleteStream(t.Context(), full.stream()); err != nil {
			t.Fatal(err)
		}
	}
	if tried < 9 {
		t.Errorf("only %d settings were tried on the server", tried)
	}
}

func TestBucketThatIsSpoiledLaterIsRefused(t *testing.T) {
	s, server := opened(t)
	servertest.Swap(t, s, "key", "", "value")
	_, settings := bucketOf(t, s.config)
	settings.MaxAge = time.Hour
	if _, err := raw(t, server.Addr()).UpdateStream(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	current(s).judged.Store(-int64(judgeEvery)) // as if half a minute had passed
	// The first call judges it again. While another one does, the others are refused as well.
	swapInto := func(key string) {
		var refused *ServerError
		if _, err := s.Swap(t.Context(), key, "", nil); !errors.As(err, &refused) {
			t.Errorf("a swap into a bucket that expires: %v", err)
		}
	}
	swapInto("new")
	var callers sync.WaitGroup
	for i := range 50 {
		callers.Go(func() { swapInto(fmt.Sprint("new-", i)) })
	}
	callers.Wait()
}

// TestBucketsThatOthersMakeWillDo opens buckets made by the printed configuration and by other clients,
// with direct gets allowed and limits that refuse.
func TestBucketsThatOthersMakeWillDo(t *testing.T) {
	server := testkit.NATS(t)
	js := raw(t, server.Addr())
	text, err := BucketJSON(of(server.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	var printed jetstream.StreamConfig
	if err := json.Unmarshal([]byte(text), &printed); err != nil {
		t.Fatal(err)
	}
	limited := printed
	limited.Name, limited.Subjects, limited.MaxBytes, limited.AllowDirect = "KV_limited", []string{"$KV.limited.>"}, 5000, true
	for _, settings := range []jetstream.StreamConfig{printed, limited} {
		if _, err := js.CreateStream(t.Context(), settings); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "byclient"}); err != nil {
		t.Fatal(err)
	}
	for _, bucket := range []string{"snowfence", "byclient", "limited"} {
		s := open(t, of(server.Addr(), func(c *Config) { c.Bucket = bucket }))
		version := servertest.Swap(t, s, "key", "", "value")
		servertest.Swap(t, s, "key", version, "other value")
		if bucket != "limited" {
			continue
		}
		// A full bucket refuses, and loses nothing.
		if _, err := s.Swap(t.Context(), "big", "", make([]byte, store.MaxValue)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Swap(t.Context(), "more", "", make([]byte, store.MaxValue)); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("a swap into a full bucket: %v", err)
		}
		if e, err := s.Get(t.Context(), "key"); err != nil || string(e.Value) != "other value" {
			t.Errorf("after the bucket was full: %+v, %v", e, err)
		}
	}
}

// TestReadsAskTheLeaderAlone uses a bucket that allows direct gets, which any
// server that keeps it answers, be it as things were a while ago.
func TestReadsAskTheLeaderAlone(t *testing.T) {
	server := testkit.NATS(t)
	js := raw(t, server.Addr())
	c, settings := bucketOf(t, of(server.Addr()))
	settings.AllowDirect = true
	if _, err := js.CreateStream(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	asked, err := js.Conn().SubscribeSync("$JS.API.*.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := js.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	s := open(t, c)
	version := servertest.Swap(t, s, "key", "", "value")
	servertest.Swap(t, s, "key", version, "other value")
	if err := servertest.Listed(t.Context(), s, "", nil); err != nil {
		t.Fatal(err)
	}
	// A request of our own is the last: all of the store's came before it.
	const last = "$JS.API.DIRECT.last"
	if err := js.Conn().Publish(last, nil); err != nil {
		t.Fatal(err)
	}
	reads := 0
	for {
		request, err := asked.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if request.Subject == last {
			break
		}
		if strings.HasPrefix(request.Subject, "$JS.API.STREAM.MSG.GET.") {
			reads++
		}
		if strings.HasPrefix(request.Subject, "$JS.API.DIRECT.") {
			t.Errorf("the store asked %s", request.Subject)
		}
	}
	if reads == 0 {
		t.Error("reads were not seen")
	}
}

func TestServerThatWillNotDoIsRefused(t *testing.T) {
	small := testkit.NATS(t, "max_payload: 4096")
	var refused *ServerError
	if err := servertest.Refusal(t, Open, of(small.Addr())); !errors.As(err, &refused) || refused.Setting != "max_payload" {
		t.Errorf("opened with %v", err)
	}
	server := testkit.NATS(t)
	version := raw(t, server.Addr()).Conn().ConnectedServerVersion()
	s, err := Open(t.Context(), of(server.Addr(), func(c *Config) { c.Loss, c.Durable = 0, true }))
	if can := atLeast(version, 10); can != (err == nil) || !can && !errors.As(err, &refused) {
		t.Errorf("a durable store on version %s: %v", version, err)
	}
	if err == nil {
		_ = s.Close()
	}
	for version, want := range map[string]bool{"2.9.10": false, "2.10.0": true, "2.11.1-dev": true, "3.0.0": true, "1.99": false, "": false, "x": false} {
		if atLeast(version, 10) != want {
			t.Errorf("version %q is at least 2.10: want %t", version, want)
		}
	}
}

// TestPasswordFileLetsIn is beside a file of credentials that holds none.
func TestPasswordFileLetsIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := testkit.NATS(t, `accounts: { A: { jetstream: enabled, users: [ { user: u, password: "s3cret" } ] } }`).Addr()
	s := open(t, of(address, func(c *Config) { c.User, c.PasswordFile = "u", path }))
	servertest.Swap(t, s, "key", "", "value")
	_ = servertest.Refusal(t, Open, of(address, func(c *Config) { c.CredsFile = path }))
}
