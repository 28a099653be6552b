package zkstore

import (
	"strings"
	"testing"
)

func TestServersThatAreNoSoundEnsembleAreRefused(t *testing.T) {
	const alone, leads, follows = "Mode: standalone\nNode count: 5\n", "Mode: leader\n", "Mode: follower\n"
	version := func(v, mode string) string {
		return "Zookeeper version: " + v + "-5a02a05eddb59aee, built on 2022-02-25\nZxid: 0x0\n" + mode
	}
	for _, c := range []struct {
		name    string
		answers []string
		lossy   bool
		warned  bool
		refused string
	}{
		{"nobody answers", []string{"", "srvr is not executed because it is not in the whitelist.\n"}, false, false, ""},
		{"one that stands alone", []string{version("3.8.0", alone), ""}, false, false, ""},
		{"two that stand alone", []string{version("3.9.4", alone), version("3.9.4", alone)}, true, false, "stand alone"},
		{"one that stands alone beside an ensemble", []string{version("3.9.4", leads), version("3.9.4", alone)}, false, false, "stand alone"},
		{"an ensemble", []string{version("3.9.4", leads), version("3.9.4", follows), version("3.9.4", "Mode: observer\n")}, false, false, ""},
		{"two ensembles", []string{version("3.9.4", leads), version("3.9.4", leads)}, true, false, "lead"},
		{"3.9.3", []string{version("3.9.4", leads), version("3.9.3", follows)}, false, false, "3.9.3"},
		{"3.9.3 alone", []string{version("3.9.3", alone)}, false, false, ""},
		{"3.9.3 that may lose", []string{version("3.9.3", leads)}, true, false, ""},
		{"3.8.4", []string{version("3.8.4", leads), version("3.8.4", follows)}, false, true, ""},
		{"3.9.2", []string{version("3.9.2", follows)}, false, true, ""},
		{"3.10.0", []string{version("3.10.0", follows)}, false, false, ""},
		{"a version that can't be read", []string{version("next", follows)}, false, false, ""},
	} {
		warnings, err := sound(c.answers, c.lossy)
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
		if (len(warnings) > 0) != c.warned {
			t.Errorf("%s: warnings %q", c.name, warnings)
		}
	}
}
