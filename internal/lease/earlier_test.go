package lease

import (
	"os"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// TestRecordsOfAnEarlierVersionKeepTheirBytes reads the records that an earlier version
// wrote, and writes each again.
func TestRecordsOfAnEarlierVersionKeepTheirBytes(t *testing.T) {
	text, err := os.ReadFile("testdata/35e8b1d.txt")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	layouts := map[string]snowfence.Layout{} // by namespace
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		var record interface{ Encode() ([]byte, error) }
		name, worker, _ := strings.Cut(strings.TrimPrefix(key, "ns/"), "/")
		switch {
		case key == "page":
			kinds["page"]++
			record, err = stored.DecodePage([]byte(value))
		case key == stored.NamespaceKey(name):
			kinds["namespace"]++
			var n stored.Namespace
			if n, err = stored.DecodeNamespace([]byte(value)); err == nil {
				layouts[name], err = snowfence.ParseLayout(n.Layout)
			}
			record = n
		default:
			kinds["register"]++
			if number, ok := stored.WorkerOf(name, layouts[name], key); !ok || stored.RegisterKey(name, layouts[name], number) != key {
				t.Errorf("%s is the key of no worker id (%s)", key, worker)
			}
			record, err = stored.DecodeRegister([]byte(value))
		}
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		if again, err := record.Encode(); err != nil || string(again) != value {
			t.Errorf("%s is written as %s (%v), want %s", key, again, err, value)
		}
	}
	if kinds["page"] != 1 || kinds["namespace"] != 2 || kinds["register"] < 10 {
		t.Errorf("read %v, want a page, two namespaces and ten registers or more", kinds)
	}
}
