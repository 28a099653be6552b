package listen

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestFilesThatDoNotFitAreReadOnceAndUnreadableOnesAgain(t *testing.T) {
	c, files := certificates(t)
	for i, step := range []struct {
		change         func() error
		changed, fails bool
	}{
		{func() error { return os.WriteFile(files.Key, []byte("half a key"), 0o600) }, false, true},
		{func() error { return nil }, false, false}, // the same half
		{func() error { certify(t, files, "second"); return nil }, true, false},
		// A folder can be looked at and not read, as a file without the permission.
		{func() error { return errors.Join(os.Remove(files.Key), os.Mkdir(files.Key, 0o700)) }, false, true},
		{func() error { return nil }, false, true},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if changed, err := c.load(); changed != step.changed || (err != nil) != step.fails {
			t.Errorf("step %d: changed %v, %v", i, changed, err)
		}
	}
}

func TestTroubleOfACertificateIsSaid(t *testing.T) {
	c, files := certificates(t)
	ends := c.Ends()
	for left, begins := range map[time.Duration]string{15 * 24 * time.Hour: "", 6 * 24 * time.Hour: "The certificate in use ends at 2", 0: "The certificate in use ended at 2"} {
		if is := c.Trouble(ends.Add(-left)); !strings.HasPrefix(is, begins) || begins == "" && is != "" {
			t.Errorf("%s before its end: %q", left, is)
		}
	}
	if err := os.WriteFile(files.Key, []byte("half a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time the files are as they were
		if is := c.Trouble(ends.Add(-15 * 24 * time.Hour)); !strings.HasPrefix(is, "The files can't be read again: ") {
			t.Errorf("files that don't fit: %q", is)
		}
	}
	certify(t, files, "second")
	if is := c.Trouble(c.Ends().Add(-15 * 24 * time.Hour)); is != "" {
		t.Errorf("mended: %q", is)
	}
}

// TestFileOfTheSameSizeAndTimeIsAnother puts another certificate and key in the place of the first ones, as cp -p
// and mv do.
func TestFileOfTheSameSizeAndTimeIsAnother(t *testing.T) {
	c, files := certificates(t)
	for _, path := range []string{files.Certificate, files.Key} {
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		another := path + ".next"
		if err := errors.Join(os.WriteFile(another, content, 0o600), os.Chtimes(another, before.ModTime(), before.ModTime()), os.Rename(another, path)); err != nil {
			t.Fatal(err)
		}
	}
	if changed, err := c.load(); !changed || err != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
}
