package token

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes a file of tokens.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ring opens a file of tokens.
func ring(t *testing.T, content string) *Ring {
	t.Helper()
	r, err := Open(write(t, content))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFileWithoutALineSaysHowToMakeOne(t *testing.T) {
	for _, content := range []string{"", "# none\n", "Correct-horse-battery\n", HashOf("x").String() + "\n"} {
		_, err := Open(write(t, content))
		if got := fmt.Sprint(err); !strings.Contains(got, "as 'snowfence token NAME' prints it") || content != "" && strings.Contains(got, content[:len(content)-1]) {
			t.Errorf("%q: %v", content, err)
		}
	}
	if _, err := Open("/nowhere/token"); err == nil || strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("a missing file: %v", err)
	}
}

// TestFileCutShortGivesNoRights is about a file that is being written, or was not written to its end: a
// part of a line may allow more than the whole line.
func TestFileCutShortGivesNoRights(t *testing.T) {
	whole := "# two teams\nbilling-of-the-shop " + HashOf("secret").String() + " generators=orders,invoices rate=50\n"
	for n := range len(whole) {
		if r, err := Open(write(t, whole[:n])); err == nil {
			t.Errorf("%q: %v", whole[:n], *r.grants.Load())
		}
	}
	ring(t, whole)
}

func TestLineSaysWhatItsTokenAllows(t *testing.T) {
	r := ring(t, "# of two teams\n\nbilling "+HashOf("secret").String()+"  generators=orders,invoices rate=50 # since May\nops "+HashOf("other").String()+"\n")
	g := r.Grant(HashOf("secret"))
	if g == nil || g.Name != "billing" || !g.Allows("orders") || !g.Allows("invoices") || g.Allows("users") || g.Limiter().Burst() != 50 {
		t.Errorf("billing: %+v", g)
	}
	if g := r.Grant(HashOf("other")); g == nil || g.Name != "ops" || !g.Allows("users") || g.Limiter() != nil {
		t.Errorf("ops: %+v", g)
	}
}

func TestLineThatCanNotBeReadIsNamed(t *testing.T) {
	hash, other := HashOf("secret").String(), HashOf("other").String()
	for line, want := range map[string]string{
		"billing-of-the-shop":                             "line 2: must be NAME",
		"billing":                                         "line 2: must be NAME",
		"Billing " + hash:                                 `name "Billing"`,
		strings.Repeat("x", 64) + " " + hash:              "at most 63",
		"billing secret-in-plain-text":                    "hash of billing",
		"billing sha256:abc":                              "hash of billing",
		"billing " + hash + "00":                          "hash of billing",
		"billing " + hash + " generators=":                `"" is no generator's name`,
		"billing " + hash + " generator=a":                `"generator=a" of billing is unknown`,
		"billing " + hash + " rate=0":                     `rate of billing is "0"`,
		"billing " + hash + " rate=fast":                  `rate of billing is "fast"`,
		"billing " + hash + " lend=0":                     `lend of billing is "0"`,
		"ops " + hash:                                     "line 2: ops has the hash of line 1: a token has one line",
		"billing " + hash + " rate=5":                     "line 2: billing has the hash of line 1",
		"billing " + other + " rate=5 rate=6":             "line 2: rate= of billing is given twice",
		"billing " + other + " generators=a generators=b": "line 2: generators= of billing is given twice",
		"#": "<nil>",
	} {
		_, err := Open(write(t, "ops "+hash+"\n"+line+"\n"))
		if got := fmt.Sprint(err); !strings.Contains(got, want) || strings.Contains(got, "plain-text") {
			t.Errorf("%q: %v, want %q, and no token", line, err, want)
		}
	}
}

func TestNewTokenIsGrantedByItsLine(t *testing.T) {
	text, g, err := New(rand.Reader, "billing", []string{"orders"}, 7, 3)
	if err != nil {
		t.Fatal(err)
	}
	r := ring(t, g.String()+"\n")
	if got := r.Grant(HashOf(text)); got == nil || got.String() != g.String() || strings.Contains(g.String(), text) {
		t.Errorf("%s: granted %v", text, got)
	}
	for _, bad := range []struct {
		name       string
		generators []string
		rate, lend int
	}{
		{"billing", []string{"Orders"}, 0, 0}, {"billing", []string{"a b"}, 0, 0}, {"billing", []string{""}, 0, 0},
		{"two words", nil, 0, 0}, {"billing", nil, -1, 0}, {"billing", nil, 0, -1}, {"billing", nil, maxRate + 1, 0},
	} {
		if _, _, err := New(rand.Reader, bad.name, bad.generators, bad.rate, bad.lend); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestChangedFileIsReadAgain(t *testing.T) {
	first, second := HashOf("first"), HashOf("second")
	r := ring(t, "one "+first.String()+"\n")
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	old := r.Grant(first)
	put := func(content string) {
		t.Helper()
		if err := os.WriteFile(r.path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		r.Reload(logger)
	}
	put("one " + first.String() + "\ntwo " + second.String() + "\n")
	if g := r.Grant(second); g == nil || r.Now(old) != old || !strings.Contains(log.String(), "added=[two] removed=[]") {
		t.Errorf("a token more: %v, %s", g, &log)
	}
	put("one " + first.String() + " rate=7\ntwo " + second.String() + "\n")
	if g := r.Now(old); g == nil || g == old || g.Rate != 7 {
		t.Errorf("a line that changed: %+v", g)
	}
	rate := r.Grant(first).Limiter()
	put("one " + first.String() + " generators=a rate=7\ntwo " + second.String() + "\n")
	if r.Grant(first).Limiter() != rate {
		t.Error("other rights forgive what a token owes")
	}
	put("one " + first.String() + " rate=7\ntwo " + second.String() + "\n")
	put("broken")
	put("broken")
	if r.Grant(second) == nil || strings.Count(log.String(), "can't be read again") != 1 {
		t.Errorf("a broken file: %s", &log)
	}
	put("two " + second.String() + "\n")
	if r.Grant(first) != nil || r.Now(old) != nil || !strings.Contains(log.String(), `added=[] removed="[one rate=7]"`) {
		t.Errorf("a token less: %s", &log)
	}
	put("broken")
	if r.Again(logger); strings.Count(log.String(), "can't be read again") != 3 {
		t.Errorf("a broken file that is asked for: %s", &log)
	}
	put("two " + second.String() + "\n")
	lines := log.Len()
	if r.Again(logger); log.Len() != lines {
		t.Errorf("the same tokens again: %s", &log)
	}
	if strings.Contains(log.String(), first.String()) || strings.Contains(log.String(), second.String()) {
		t.Errorf("the log shows hashes: %s", &log)
	}
}

func TestTokenOfAGeneratorThatIsNotThereIsNamed(t *testing.T) {
	r := ring(t, "a "+HashOf("a").String()+" generators=order,chat\nb "+HashOf("b").String()+" generators=-\nc "+HashOf("c").String()+"\n")
	got := r.Warnings([]string{"chat", "orders"})
	if len(got) != 1 || got[0] != `the token of a allows "order", which is none of the generators: chat, orders` {
		t.Errorf("%q", got)
	}
	if b := r.Grant(HashOf("b")); b.Allows("orders") || b.Allows("chat") {
		t.Error("a token for metrics alone allows a generator")
	}
}

func TestBearerIsTheTokenOfAHeader(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer secret": "secret", "bearer  secret ": "secret", "BEARER a b": "a b",
		"": "", "Bearer": "", "secret": "", "Basic secret": "", "Bearersecret": "", " Bearer secret": "",
	} {
		if got := Bearer(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

func FuzzBearer(f *testing.F) {
	f.Add("Bearer secret")
	f.Add("basic  ")
	f.Fuzz(func(t *testing.T, header string) {
		got := Bearer(header)
		if got != strings.TrimSpace(got) || !strings.HasSuffix(strings.TrimSpace(header), got) {
			t.Errorf("%q: %q is not the end of the header", header, got)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("billing " + HashOf("secret").String() + " generators=a,b rate=5 # comment\n\n")
	f.Add("a sha256:00\nb")
	f.Fuzz(func(t *testing.T, content string) {
		grants, err := parse(content)
		if err != nil {
			return
		}
		for _, g := range grants {
			if again, err := parseLine(g.String()); err != nil || again.String() != g.String() {
				t.Errorf("%q is read as %v, %v", g, again, err)
			}
		}
	})
}
