package storeurl

import (
	"strings"
	"testing"
)

// TestPathThatIsHardlyMeantIsRefused is about paths and prefixes that are another space of ids when they are
// taken as they are.
func TestPathThatIsHardlyMeantIsRefused(t *testing.T) {
	for path, want := range map[string]string{
		"/var/ids": "", "/home/o'brien/a<b": "", "ids": "", "a b/~c": "", "/price/$5": "", "été/日本": "",
		"~/ids": "begins with ~", "~me/ids": "begins with ~", "~": "begins with ~", "//~/ids": "begins with ~",
		"$HOME/ids": "has $NAME…", "/x/${D}/ids": "has ${…", "/x/$(pwd)": "has $(…", "/x/${D:-y}": "has ${…", "/$_x": "has $NAME…",
		" /ids": "no blank at its ends", "/ids ": "no blank", "/ids\n": "no blank", "\u00a0/ids": "no blank", "/ids\u200b": "no blank",
		"\ufeff/ids": "no blank", "/i\rds": "no control character", "/i\x00": "no blank",
	} {
		err := CheckFolder(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
		// The same rule holds for the path and the values of a URL. A shell's signs are meant where they are escaped.
		escaped := strings.NewReplacer(" ", "%20", "\n", "%0A", "\r", "%0D", "\x00", "%00").Replace(path)
		for _, raw := range []string{"a://h/" + escaped, "a://h?prefix=" + escaped} {
			u, err := Parse(raw, "a")
			if err == nil {
				u.Text("prefix")
				err = u.Done()
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", raw, err, want)
			}
		}
	}
	for _, raw := range []string{"a://me:pa$hush@h", "a://me:${HUSH}@h", "a://me:$(hush)@h"} {
		if _, err := Parse(raw, "a"); err == nil || strings.Contains(strings.ToLower(err.Error()), "hush") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if u, err := Parse("a://me:pa%24hush@h/%24HOME", "a"); err != nil || u.password != "pa$hush" || u.Path != "$HOME" {
		t.Errorf("escaped: %v", err)
	}
}
