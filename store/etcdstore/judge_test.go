package etcdstore

import "testing"

func TestVersionThatLosesSwapsIsRefused(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.3.27":     false,
		"3.4.21":     false,
		"3.4.22":     true,
		"3.5.2":      false,
		"3.5.5":      false,
		"3.5.6":      true,
		"3.6.0":      true,
		"3.6.0-rc.1": true,
		"4.0.0":      true,
		"":           true,
		"not known":  true,
	} {
		if err := sound(version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}
