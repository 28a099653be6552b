package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionIsWhatTheToolchainStored(t *testing.T) {
	stored := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123abcd"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		},
	}
	b := buildOf(stored)
	if b.Version != "v1.2.3" || b.Revision != "0123abcd" || b.Time != "2026-01-02T03:04:05Z" || !b.Modified {
		t.Errorf("got %+v", b)
	}
	if !strings.HasPrefix(b.String(), "snowfence v1.2.3 0123abcd modified go1.") {
		t.Errorf("got %q", b)
	}
	for _, info := range []*debug.BuildInfo{nil, {}, {Main: debug.Module{Version: "(devel)"}}} {
		if b := buildOf(info); b.Version != "devel" || b.Revision != "" || b.Go == "" || b.Platform == "" {
			t.Errorf("got %+v", b)
		}
	}
}
