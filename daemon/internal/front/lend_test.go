package front_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/lending"
	"snowfence.example/snowfence/internal/lend"
)

func TestAnswersOfTheVectorsForPortersAreThoseOfTheDaemon(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "lending.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name  string
			Steps []struct {
				Outcome string
				Answer  json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, c := range file.Cases {
		for i, step := range c.Steps {
			if step.Answer == nil || step.Outcome == "refused" {
				continue
			}
			var want, got any
			if err := json.Unmarshal(step.Answer, &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(front.LeaseJSON(lending.Told(told(t, step.Answer))), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, step %d: the daemon answers\n%v, the file has\n%v", c.Name, i, got, want)
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("the file has no answers")
	}
}

// told is the answer that the text carries.
func told(t *testing.T, text []byte) lend.Answer {
	t.Helper()
	var carried struct {
		Lease, Mark, Layout string
		Floor               int64 `json:",string"`
		Window              int64 `json:"window_ms"`
		Loss                int64 `json:"loss_ms"`
		MaxBehind           int64 `json:"max_behind_ms"`
	}
	if err := json.Unmarshal(text, &carried); err != nil {
		t.Fatal(err)
	}
	lease, err := lend.ParseLease(carried.Lease)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := snowfence.ParseLayout(carried.Layout)
	if err != nil {
		t.Fatal(err)
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return lend.Answer{
		Lease: lease, Mark: carried.Mark, Layout: layout, Floor: snowfence.Tick(carried.Floor),
		Window: ms(carried.Window), Loss: ms(carried.Loss), MaxBehind: ms(carried.MaxBehind),
	}
}
