package storeurl

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, raw string) *URL {
	t.Helper()
	u, err := Parse(raw, "a", "as")
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return u
}

func TestURLIsTakenApart(t *testing.T) {
	for raw, want := range map[string]string{
		"a://h":                      "a [h:7] ",
		"A://h:1/p":                  "a [h:1] p",
		"as://h:1,g,[::1],[::1]:9/":  "as [h:1 g:7 [::1]:7 [::1]:9] ",
		"a://me@h/p/q":               "a me [h:7] p/q",
		"a://me:pw@h/p":              "a me:pw [h:7] p",
		"a://m%40e:p%2Fw%3A%40@h?y=": "",
		"a://m%40e:p%2Fw%3A%40@h":    "a m@e:p/w:@ [h:7] ",
		"a://h/%2Fp%20q":             "a [h:7] /p q",
	} {
		u, err := Parse(raw, "a", "as")
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", raw, err)
			}
			continue
		}
		got := u.Scheme + " "
		if u.user != "" {
			got += u.user
			if u.password != "" {
				got += ":" + string(u.password)
			}
			got += " "
		}
		got += fmt.Sprint(u.Endpoints("7")) + " " + u.Path
		if err := u.Done(); got != want || err != nil {
			t.Errorf("%s: %s (%v), want %s", raw, got, err, want)
		}
	}
}

func TestBadURLIsRefusedWithItsPart(t *testing.T) {
	for raw, want := range map[string]string{
		"":                 "must begin with a:// or as://",
		"b://h":            "must begin with",
		"a:h":              "must begin with",
		"a://":             "host number 1",
		"a://h,":           "host number 2",
		"a://h:0":          "host number 1",
		"a://h:65536":      "host number 1",
		"a://me:hush":      "host number 1",
		"a://h,a h":        "host number 2",
		"a://[::1":         "host number 1",
		"a://::1":          "host number 1",
		"a://[::1%25x]":    "host number 1",
		"a://me:hu/sh@h":   "must be written as %XX",
		"a://me:hu%zzsh@h": "user or password",
		"a://h/%zz":        "path",
		"a://h?x=%zz":      "query",
		"a://h?x=1&x=2":    `"x": must be given once`,
		"a://h?x=":         `"x": must be given once`,
		"a://h#f":          "fragment",
	} {
		u, err := Parse(raw, "a", "as")
		if err == nil {
			u.Endpoints("7")
			err = u.Done()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		} else if strings.Contains(err.Error(), "sh") && strings.Contains(raw, "hu") {
			t.Errorf("%s: the error shows the password: %v", raw, err)
		}
	}
}

func TestKeysAreTypedAndBounded(t *testing.T) {
	u := parse(t, "a://h?t=x&f=true&n=3&d=1500ms")
	if u.Text("t") != "x" || !u.Flag("f") || u.Count("n", 1, 3) != 3 || u.Duration("d") != 1500*time.Millisecond ||
		u.Text("no") != "" || u.Flag("no") || u.Count("no", 1, 3) != 0 || u.Duration("no") != 0 {
		t.Errorf("the query is %v", u.query)
	}
	if err := u.Done(); err != nil {
		t.Error(err)
	}
	for raw, read := range map[string]func(u *URL){
		`f="yes": must be true or false`: func(u *URL) { u.Flag("f") },
		`n="4": must be a number from 1`: func(u *URL) { u.Count("n", 1, 3) },
		`d="-1s": must be a duration`:    func(u *URL) { u.Duration("d") },
	} {
		u := parse(t, "a://h?f=yes&n=4&d=-1s")
		read(u)
		if err := u.Done(); err == nil || !strings.Contains(err.Error(), raw) {
			t.Errorf("%v, want %q", err, raw)
		}
	}
}

func TestKeyThatNobodyAskedForIsRefused(t *testing.T) {
	u := parse(t, "a://h?known=1&unknown=2")
	u.Text("known")
	u.Text("other")
	if err := u.Done(); err == nil || err.Error() != `"unknown": is not a key of a://; known are known, other` {
		t.Errorf("error is %v", err)
	}
}

func TestKeyOfAnotherProgramIsAnsweredWithOurs(t *testing.T) {
	for key, want := range map[string]string{
		"sslmode": "write tls=true, and ca=FILE", "sslrootcert": "write tls=true&ca=FILE", "sslkey": "cert=FILE&key=FILE", "ssl-mode": "write tls=true",
		"durable": "durable already",
	} {
		for _, rest := range []string{"", "&ca=ca.pem"} { // which needs the purpose of sslmode
			u := parse(t, "a://h?"+key+"=x"+rest)
			u.TLS(false)
			if err := u.Done(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s%s: %v, want %q", key, rest, err, want)
			}
		}
	}
}

func TestPasswordComesFromOnePlaceAndIsNotShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte("hush hush\r\nmore\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := parse(t, "a://h?user=me&password-file="+path)
	user, _, file := u.Login()
	password, readErr := Password("", file)
	if err := errors.Join(readErr, u.Done()); err != nil || user != "me" || password != "hush hush" {
		t.Errorf("%s, %q, %v", user, string(password), err)
	}
	if user, password, file := parse(t, "a://me@h?password-file=/nowhere").Login(); user != "me" || password != "" || file != "/nowhere" {
		t.Errorf("%s, %q, %s", user, string(password), file)
	}
	encoded, err := json.Marshal(struct{ P Secret }{password})
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%v %s %q %#v %+v %s %s", password, password, password, password, struct{ P Secret }{password}, encoded, slog.AnyValue(password))
	if strings.Contains(shown, "hush") {
		t.Errorf("it is shown: %s", shown)
	}
	for raw, want := range map[string]string{
		"a://me@h?user=you":                   "given in front of the hosts",
		"a://me:hush@h?password-file=" + path: "must not be given with a password",
		"a://h?password-file=/nowhere":        "/nowhere",
		"a://h?password-file=" + os.TempDir(): "must be a regular file",
		"a://h?password-file=" + os.DevNull:   "must be a regular file",
		"a://h?password-file=" + emptyFile(t): "its first line is empty",
	} {
		u := parse(t, raw)
		_, _, file := u.Login()
		if err := errors.Join(u.Done(), CheckFiles("engine", nil, file)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

func TestPasswordFileIsReadEachTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	if _, err := Password("", path); err == nil {
		t.Error("a file that is missing is no error")
	}
	for content, want := range map[string]Secret{"one\n": "one", " t w o\r\nmore\n": " t w o", "three": "three"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Password("", path); got != want || err != nil {
			t.Errorf("%q holds password %q (%v), want %q", content, string(got), err, string(want))
		}
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Password("", path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is empty: %v, want an error that names it", err)
	}
	if got, err := Password("given", ""); got != "given" || err != nil {
		t.Errorf("without a file: %q (%v)", string(got), err)
	}
}

func TestEndpointsOfAConfigAreChecked(t *testing.T) {
	for endpoints, want := range map[string]string{
		"h:1":              "",
		"h:1 [::1]:65535":  "",
		"":                 "at least one",
		"h":                "number 1",
		":1":               "number 1",
		"h:1 h:0":          "number 2",
		"h:65536":          "number 1",
		"h:+1":             "number 1",
		"me:hush@h:1":      "number 1",
		"me@h:1":           "number 1",
		"a://me:hush@h":    "number 1",
		"a,h:1":            "number 1",
		"h/x:1":            "number 1",
		"h\u00a0h:1":       "number 1",
		"h:1 h:1 h\x00h:1": "number 3",
	} {
		err := CheckEndpoints(strings.FieldsFunc(endpoints, func(r rune) bool { return r == ' ' }))
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", endpoints, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush")):
			t.Errorf("%q: %v, want %q", endpoints, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a://h", "a://me:pw@h:1,[::1]/p?x=1", "as://%41:%42@h?tls=true&loss=1s", "a://h?x=1#f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := Parse(raw, "a", "as")
		if err != nil {
			return
		}
		endpoints := u.Endpoints("7")
		u.Login()
		u.Duration("loss")
		err = u.Done()
		if err == nil && CheckEndpoints(endpoints) != nil {
			t.Errorf("%q: endpoints %q: %v", raw, endpoints, CheckEndpoints(endpoints))
		}
		if err != nil && len(u.password) > 8 && strings.Contains(err.Error(), string(u.password)) &&
			!strings.Contains(strings.Replace(raw, string(u.password), "", 1), string(u.password)) {
			t.Errorf("%q: the error shows the password: %v", raw, err)
		}
	})
}

func emptyFile(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
