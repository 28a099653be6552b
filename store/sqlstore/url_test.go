package sqlstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/store/sqlstore"
)

func TestURLSaysWhereAndHow(t *testing.T) {
	for u, want := range map[string]string{
		"postgres://me@a/db":                        `a:5432 database "db" user "me", postgresql table snowfence_registers loss 15s`,
		"postgresql://me@a:1,b,[::1]:3,[::2]/db":    `a:1,b:5432,[::1]:3,[::2]:5432 database "db" user "me", postgresql table snowfence_registers loss 15s`,
		"mysql://me@a/d%2fb":                        "",
		"mysql://me@a/d%20b?loss=1m":                `a:3306 database "d b" user "me", mysql table snowfence_registers loss 1m0s`,
		"mariadb://a/db?user=m%40e&durable=true":    `a:3306 database "db" user "m@e", mysql table snowfence_registers durable`,
		"mysql://me@a/db?whole-pages=true&loss=1m":  `a:3306 database "db" user "me", mysql table snowfence_registers loss 1m0s whole-pages`,
		"mysql://me@a/db?durable=1&whole-pages=1":   `a:3306 database "db" user "me", mysql table snowfence_registers durable whole-pages`,
		"postgres://me@a/db?table=x.y_1&tls=true":   `a:5432 database "db" user "me" over TLS, postgresql table x.y_1 loss 15s`,
		"postgres://me:p%40%2F%3A@a/db?tls=false":   `a:5432 database "db" user "me", postgresql table snowfence_registers loss 15s`,
		"postgres://m%65:s3cret@a/db?durable=false": `a:5432 database "db" user "me", postgresql table snowfence_registers loss 15s`,
	} {
		a, err := sqlstore.ParseURL(u)
		if want == "" {
			if err == nil {
				t.Errorf("%s: is taken for %v", u, a)
			}
			continue
		}
		if err != nil || a.String() != want {
			t.Errorf("%s: %v (%v), want %s", u, a, err, want)
		}
	}
	a, err := sqlstore.ParseURL("postgres://me:p%40%2F%3A@a/db")
	if err != nil || a.Password != "p@/:" {
		t.Errorf("the password is %q (%v), want p@/:", string(a.Password), err)
	}
}

func TestURLThatIsWrongIsRefusedByTheNameOfWhatIsWrong(t *testing.T) {
	for u, want := range map[string]string{
		"":                                        "must begin with postgres://",
		"redis://me@a/db":                         "must begin with postgres://",
		"postgres:me@a/db":                        "must begin with postgres://",
		"postgres://me@a":                         "must name one database",
		"postgres://me@a/":                        "must name one database",
		"postgres://me@a/b/c":                     "must name one database",
		"postgres://a/db":                         "must name a user",
		"postgres://me@/db":                       "host number 1",
		"postgres://me@a,,b/db":                   "host number 2",
		"postgres://me@a:0/db":                    "host number 1",
		"postgres://me@a:65536/db":                "host number 1",
		"postgres://me@a:s3cret/db":               "host number 1",
		"postgres://me:s3cret/x@a/db":             "must be written as %XX",
		"postgres://me:s3cret#x@a/db":             "must be written as %XX",
		"postgres://me:s3cret%zz@a/db":            "user or password",
		"postgres://me:s3cret%00@a/db":            "byte 0",
		"postgres://me@a/db?sslmode=require":      `"sslmode": is not a key`,
		"postgres://me@a/db?Table=x":              `"Table": is not a key`,
		"postgres://me@a/db?table=x&table=y":      `"table": must be given once`,
		"postgres://me@a/db?table=":               `"table": must be given once`,
		"postgres://me@a/db?table=X":              `table "X"`,
		"postgres://me@a/db?table=a.b.c":          `table "a.b.c"`,
		"postgres://me@a/db?table=1a":             `table "1a"`,
		"postgres://me@a/db?user=you":             "user: is given",
		"postgres://me:s3cret@a/db?durable=yes":   "durable=",
		"postgres://me@a/db?loss=10":              "loss=",
		"postgres://me@a/db?loss=-1s":             "loss=",
		"postgres://me@a/db?loss=1s&durable=1":    "loss: must not be given",
		"postgres://me@a/db?a=%zz":                "query: must be key=value",
		"postgres://me@a/db?ca=/x":                "need tls=true",
		"postgres://me@a/db?tls=1&ca=/no/x":       "URL: ca",
		"postgres://me@a/db?tls=1&cert=/no/x":     "must be given both",
		"postgres://m:s3cret@a/d?password-file=x": "password-file",
	} {
		a, err := sqlstore.ParseURL(u)
		if err == nil {
			t.Errorf("%q: is taken for %v, want %q", u, a, want)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", u, err, want)
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: the error shows the password: %v", u, err)
		}
	}
}

func TestPasswordsAreHidden(t *testing.T) {
	a, err := sqlstore.ParseURL("mysql://me:s3cret@a/db")
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, shown := range []any{a, &a, a.Config()} {
			if text := fmt.Sprintf(verb, shown); strings.Contains(text, "s3cret") {
				t.Errorf("%s shows the password: %s", verb, text)
			}
		}
	}
	if text := a.LogValue().String(); strings.Contains(text, "s3cret") {
		t.Errorf("the log shows the password: %s", text)
	}
}

func TestPasswordFileIsReadEachTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	a, err := sqlstore.ParseURL("postgres://me@a/db?password-file=" + path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.ReadPassword(); err == nil {
		t.Error("a file that is missing is no error")
	}
	for content, want := range map[string]string{"one\n": "one", "t w o\r\nmore\n": "t w o", "three": "three"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := a.ReadPassword(); string(got) != want || err != nil {
			t.Errorf("password is %q (%v), want %q", string(got), err, want)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("postgres://me:s3cret@a:1,[::1]:2/db?table=x.y&loss=1s")
	f.Add("mysql://a/db?user=me&password-file=/x&durable=true")
	f.Add("mariadb://me:p%40@a/d%20b")
	f.Fuzz(func(t *testing.T, u string) {
		if strings.Contains(u, "ca=") || strings.Contains(u, "cert=") || strings.Contains(u, "key=") {
			return // reads files
		}
		a, err := sqlstore.ParseURL(u)
		if err != nil {
			if a.User != "" || a.Password != "" || len(a.Hosts) > 0 {
				t.Errorf("%q: an error (%v) with an address", u, err)
			}
			return
		}
		if len(a.Hosts) == 0 || a.User == "" || a.Database == "" || a.Loss < 0 || a.Loss > 0 && a.Durable {
			t.Errorf("%q: is taken for %v", u, a)
		}
		for _, host := range a.Hosts {
			if !strings.Contains(host, ":") {
				t.Errorf("%q: host %q has no port", u, host)
			}
		}
	})
}
