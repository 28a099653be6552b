package etcdstore

import "testing"

func TestVersionThatLosesSwapsIsRefused(t *testing.T) {
	for _, c := range []struct {
		version string
		members int
		sound   bool
	}{
		{"3.3.27", 3, false},
		{"3.4.20", 1, false},
		{"3.4.20", 3, true},
		{"3.4.21", 1, true},
		{"3.5.2", 3, false},
		{"3.5.3", 3, true},
		{"3.5.4", 1, false},
		{"3.5.5", 1, true},
		{"3.6.0", 1, true},
		{"3.6.0-rc.1", 1, true},
		{"4.0.0", 1, true},
		{"", 1, true},
		{"not known", 1, true},
	} {
		if err := sound(c.version, c.members); (err == nil) != c.sound {
			t.Errorf("%q with %d members: %v", c.version, c.members, err)
		}
	}
}
