package tools

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnitsOfSystemdAreValidAndLockedDown has systemd judge the units, with a program that exists in place of ours.
func TestUnitsOfSystemdAreValidAndLockedDown(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "/bin/sh", "need.sh", "systemd-analyze=systemd").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	folder := t.TempDir()
	for _, unit := range []string{"snowfence.service", "snowfence.socket"} {
		write(t, folder, unit, strings.Replace(read(t, "deploy/systemd/"+unit), "=/usr/bin/snowfence", "=/bin/true", 1))
	}
	service, socket := filepath.Join(folder, "snowfence.service"), filepath.Join(folder, "snowfence.socket")
	const most = "20" // tenths of the exposure
	for _, arguments := range [][]string{
		{"verify", "--man=no", "--recursive-errors=no", service, socket},
		{"security", "--no-pager", "--offline=true", "--threshold=" + most, service},
	} {
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", arguments...).CombinedOutput()
		if err != nil || arguments[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %s: %v\n%s", arguments[0], err, out)
		}
	}
	sysusers := exec.CommandContext(t.Context(), "systemd-sysusers", "--dry-run", "-")
	sysusers.Stdin = strings.NewReader(read(t, "deploy/systemd/snowfence.sysusers"))
	if out, err := sysusers.CombinedOutput(); err != nil {
		t.Errorf("systemd-sysusers: %v\n%s", err, out)
	}
}
