package snowfence_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
)

func Example() {
	preset, err := snowfence.PresetByName("twitter")
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := snowfence.Parse("1541815603606036480")
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := preset.Layout.Decompose(id)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(preset.Layout.TimeOf(parts.Tick))
	fmt.Println("datacenter", parts.Datacenter, "worker", parts.Worker, "sequence", parts.Sequence)
	// Output:
	// 2022-06-28 16:07:40.105 +0000 UTC
	// datacenter 11 worker 26 sequence 0
}

func ExampleParse() {
	id, err := snowfence.Parse("9007199254740993")
	fmt.Println(id, err)

	_, err = snowfence.Parse("0123")
	fmt.Println(err)
	fmt.Println(errors.Is(err, snowfence.ErrInvalidID))
	// Output:
	// 9007199254740993 <nil>
	// snowfence: invalid id "0123": decimal: position 0: has a leading zero
	// true
}

func ExampleID() {
	id := snowfence.ID(1541815603606036480)
	fmt.Println(id.FixedDecimal())
	fmt.Println(id.Hex())
	fmt.Println(id.Base32())
	fmt.Println(id.Base62())
	// Output:
	// 1541815603606036480
	// 1565a11f6217a000
	// 1ASD13XH1F800
	// 1ptWyK4WgZU
}

func ExampleID_json() {
	var order struct {
		ID snowfence.ID `json:"id"`
	}
	// A number is read exactly, even beyond what a float holds.
	if err := json.Unmarshal([]byte(`{"id":9007199254740993}`), &order); err != nil {
		fmt.Println(err)
		return
	}
	data, err := json.Marshal(order)
	fmt.Println(string(data), err)
	// Output: {"id":"9007199254740993"} <nil>
}

func ExampleParseBase32() {
	// O is read as 0, and l as 1, in either case.
	id, err := snowfence.ParseBase32("lasdi3xhlf8oO")
	fmt.Println(id, err)
	// Output: 1541815603606036480 <nil>
}

func ExampleParseLayout() {
	for _, s := range []string{"10ms39-seq8-worker16", "baidu@2026-01-01", "ms37-worker20-seq16"} {
		layout, err := snowfence.ParseLayout(s)
		if err != nil {
			fmt.Println(err)
		} else {
			fmt.Println(layout)
		}
	}
	// Output:
	// 10ms39-seq8-worker16@2026-01-01T00:00:00Z
	// s28-worker22-seq13@2026-01-01T00:00:00Z
	// snowfence: invalid layout: total is 73 bits, must be at most 63 bits: the 64th bit is the sign
}

func ExampleLayout_Compose() {
	layout := snowfence.DefaultLayout()
	id, err := layout.Compose(snowfence.Parts{
		Tick:     layout.TickAt(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)),
		Worker:   39,
		Sequence: 7,
	})
	fmt.Println(id, err)

	_, err = layout.Compose(snowfence.Parts{Worker: 1024})
	fmt.Println(err)
	// Output:
	// 21562078003359751 <nil>
	// snowfence: worker is 1024, must be from 0 to 1023
}

func ExampleLayout_Between() {
	march := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	lo, hi, err := snowfence.DefaultLayout().Between(march, march.AddDate(0, 1, 0))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("SELECT * FROM orders WHERE id BETWEEN %d AND %d\n", lo, hi)
	// Output: SELECT * FROM orders WHERE id BETWEEN 21380884070400000 AND 32614907903999999
}

func ExampleLayout_Bounds() {
	now := time.Date(2026, time.March, 1, 0, 0, 0, 1234567, time.UTC)
	lo, hi, err := snowfence.DefaultLayout().Bounds(now)
	fmt.Println("ids of this millisecond:", lo, "to", hi, err)
	// Output: ids of this millisecond: 21380884074594304 to 21380884078788607 <nil>
}

func ExampleLayout_Horizon() {
	layout := snowfence.DefaultLayout()
	fmt.Println(layout.Horizon())
	fmt.Println(layout.Workers(), "workers,", layout.RatePerWorker(), "ids a second each")
	// Output:
	// 2095-09-07 15:47:35.552 +0000 UTC
	// 1024 workers, 4.096e+06 ids a second each
}

func ExampleLayout_Spans() {
	preset, err := snowfence.PresetByName("discord")
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := preset.Layout.Decompose(175928847299117063)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, span := range preset.Layout.Spans() {
		fmt.Printf("%2d..%-2d %-10s %d\n", span.High, span.Low, span.Field.Kind, parts.Value(span.Field.Kind))
	}
	// Output:
	// 63..22 time       41944705796
	// 21..17 datacenter 1
	// 16..12 worker     0
	// 11..0  sequence   7
}

// Worker 7 is this program's alone, and its clock is never set back while it is
// down: somebody else sees to both.
func ExampleNewGenerator() {
	worker, layout := int64(7), snowfence.DefaultLayout()
	g, err := snowfence.NewGenerator(snowfence.GeneratorConfig{Worker: &worker, Until: layout.HorizonTick()})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := g.Next(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := layout.Decompose(id)
	fmt.Println("worker", parts.Worker, err)
	// Output: worker 7 <nil>
}

func ExamplePresets() {
	for _, preset := range snowfence.Presets()[:3] {
		fmt.Println(preset.Name, preset.Layout)
	}
	// Output:
	// default ms41-worker10-seq12@2026-01-01T00:00:00Z
	// twitter ms41-datacenter5-worker5-seq12@2010-11-04T01:42:54.657Z
	// leaf ms41-worker10-seq12@2010-11-04T01:42:54.657Z
}

func TestModuleRequiresNothing(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^\s*(require|replace|tool|toolchain)\b.*`).Find(mod); found != nil {
		t.Errorf("go.mod has %q", found)
	}
	if _, err := os.Stat("go.sum"); !os.IsNotExist(err) {
		t.Errorf("there is a go.sum, or it can't be looked for: %v", err)
	}
}

func TestPackageNeedsTheStandardLibraryAlone(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	// No I/O of its own, and no randomness or time but what it is given.
	refused := []string{"bufio", "io", "io/fs", "net", "net/http", "os", "os/exec", "path/filepath", "syscall", "unsafe", "math/rand"}
	for _, path := range pkg.Imports {
		host, _, _ := strings.Cut(path, "/")
		if strings.Contains(host, ".") {
			t.Errorf("%s is not of the standard library", path)
		}
		if slices.Contains(refused, path) {
			t.Errorf("%s has no place in this package", path)
		}
	}
}
