package redisstore

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"
)

func TestServerIsJudgedByWhatItShows(t *testing.T) {
	// What a sound server shows to a user who may read it all.
	sound := settings{
		"redis_mode": "standalone", "role": "master", "maxmemory": "1000000", "maxmemory_policy": "noeviction",
		"aof_enabled": "1", "appendonly": "yes", "appendfsync": "everysec", "no-appendfsync-on-rewrite": "no",
	}
	lossy := Config{Loss: DefaultLoss}
	durable := Config{Durable: true}
	replicated := Config{Loss: DefaultLoss, Replicated: true}
	tests := []struct {
		name   string
		config Config
		change settings // "" means that it is not shown
		want   string   // the setting that is wrong; "" means none
	}{
		{"sound", lossy, nil, ""},
		{"synced always", durable, settings{"appendfsync": "always"}, ""},
		{"no memory limit", lossy, settings{"maxmemory": "0", "maxmemory_policy": "allkeys-lru"}, ""},
		{"evicts any key", lossy, settings{"maxmemory_policy": "allkeys-lru"}, "maxmemory_policy"},
		{"evicts keys that expire", lossy, settings{"maxmemory_policy": "volatile-lru"}, "maxmemory_policy"},
		{"evicts, and noeviction is asserted", Config{Loss: DefaultLoss, NoEviction: true}, settings{"maxmemory_policy": "allkeys-lru"}, "maxmemory_policy"},
		{"evicts, and the limit is not shown", lossy, settings{"maxmemory": "", "maxmemory_policy": "allkeys-lru"}, "maxmemory_policy"},
		{"shows no policy", lossy, settings{"maxmemory": "", "maxmemory_policy": ""}, "maxmemory_policy"},
		{"shows no policy, and noeviction is asserted", Config{Loss: DefaultLoss, NoEviction: true}, settings{"maxmemory": "", "maxmemory_policy": ""}, ""},
		{"replica", lossy, settings{"role": "slave"}, "role"},
		{"shows no role", lossy, settings{"role": ""}, "role"},
		{"cluster", lossy, settings{"redis_mode": "cluster"}, "redis_mode"},
		{"Sentinel", lossy, settings{"redis_mode": "sentinel"}, "redis_mode"},
		{"loads", lossy, settings{"loading": "1"}, "loading"},
		{"keeps nothing", lossy, settings{"aof_enabled": "0", "appendonly": "no"}, "aof_enabled"},
		{"keeps nothing, as INFO alone shows", lossy, settings{"aof_enabled": "0", "appendonly": ""}, "aof_enabled"},
		{"keeps nothing, as CONFIG alone shows", lossy, settings{"aof_enabled": "", "appendonly": "no"}, "appendonly"},
		{"does not show whether it keeps anything", lossy, settings{"aof_enabled": "", "appendonly": ""}, "appendonly"},
		{"does not show it, and replicas do", replicated, settings{"aof_enabled": "", "appendonly": ""}, ""},
		{"keeps nothing, and durable is asserted", durable, settings{"aof_enabled": "0", "appendonly": "no", "appendfsync": "always"}, "aof_enabled"},
		{"keeps nothing, and replicas do", replicated, settings{"aof_enabled": "0", "appendonly": "no"}, ""},
		{"evicts, and replicas do", replicated, settings{"maxmemory_policy": "allkeys-lru"}, "maxmemory_policy"},
		{"syncs each second, and durable is asserted", durable, nil, "appendfsync"},
		{"syncs each second, within a loss of two", Config{Loss: 2 * time.Second}, nil, ""},
		{"syncs each second, beyond a loss of less", Config{Loss: 1999 * time.Millisecond}, nil, "appendfsync"},
		{"syncs each second, and replicas matter", Config{Loss: time.Second, Replicated: true}, nil, ""},
		{"never syncs", lossy, settings{"appendfsync": "no"}, "appendfsync"},
		{"does not sync while it rewrites", durable, settings{"appendfsync": "always", "no-appendfsync-on-rewrite": "yes"}, "no-appendfsync-on-rewrite"},
		{"does not sync while it rewrites, lossy", lossy, settings{"no-appendfsync-on-rewrite": "yes"}, "no-appendfsync-on-rewrite"},
		{"does not show how it syncs", durable, settings{"appendonly": "", "appendfsync": "", "no-appendfsync-on-rewrite": ""}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := maps.Clone(sound)
			maps.Copy(found, test.change)
			maps.DeleteFunc(found, func(_, value string) bool { return value == "" })
			err := test.config.judge("there:6379", found)
			var unfit *ServerError
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want == "":
			case !errors.As(err, &unfit) || unfit.Setting != test.want || unfit.Value != found[test.want]:
				t.Errorf("the error is %v, want one about %s", err, test.want)
			case !strings.Contains(err.Error(), "there:6379") || !strings.Contains(err.Error(), test.want):
				t.Errorf("the error does not name the server and the setting: %v", err)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("1 0123456789abcdef0123456789abcdef value")
	f.Add("1 0123456789abcdef0123456789abcdef ")
	f.Add("2 0123456789abcdef0123456789abcdef value")
	f.Fuzz(func(t *testing.T, stored string) {
		e, err := decode("key", stored)
		if err != nil {
			return
		}
		if len(e.Version) != 2*versionSize || head+string(e.Version)+" "+string(e.Value) != stored {
			t.Errorf("%q is decoded to %+v", stored, e)
		}
	})
}
