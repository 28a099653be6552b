package natsstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

func TestWarningsAndTraitsSayWhatIsAsserted(t *testing.T) {
	tests := []struct {
		query string
		want  store.Traits
		warns bool
	}{
		{"", store.Traits{Engine: "nats", Loss: DefaultLoss}, false},
		{"loss=5s", store.Traits{Engine: "nats", Loss: 5 * time.Second}, false},
		{"durable=true", store.Traits{Engine: "nats", Durable: true}, false},
		{"unsafe-ignore-loss=true", store.Traits{Engine: "nats", Durable: true}, true},
	}
	for _, test := range tests {
		c, err := ParseURL("nats://h?" + test.query)
		if err == nil {
			c, err = c.withDefaults()
		}
		if err != nil {
			t.Fatal(err)
		}
		s := &Store{config: c, life: storeclient.Begin()}
		traits, err := s.Traits(t.Context())
		if err != nil || traits != test.want || traits.Validate() != nil {
			t.Errorf("%q: %+v, %v", test.query, traits, err)
		}
		if warns := len(s.Warnings()) > 0; warns != test.warns {
			t.Errorf("%q: warnings %q", test.query, s.Warnings())
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, u := range []string{
		"nats://u:pass@a:1,b/bucket?loss=5s&replicas=3", "nats://h?durable=true", "nats://[::1]", "nats://h/b?unsafe-ignore-loss=true",
		"nats://", "nats://u:p@h@i", "nats://h?tls=true", "nats://%zz@h",
	} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, u string) {
		c, err := ParseURL(u)
		if err != nil {
			return
		}
		if _, err := c.withDefaults(); err != nil {
			t.Fatalf("%q is taken, and then refused: %v", u, err)
		}
		if len(c.Password) > 8 && strings.Contains(fmt.Sprint(c), string(c.Password)) && !strings.Contains(strings.Join(c.Endpoints, ",")+c.Bucket+c.Prefix+c.User+fmt.Sprint(c.PasswordFile, c.TokenFile, c.CredsFile, c.NKeyFile), string(c.Password)) {
			t.Fatalf("%q shows its password: %v", u, c)
		}
	})
}
