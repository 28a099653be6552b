package redisstore

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
)

func TestServerIsJudgedByWhatItShows(t *testing.T) {
	// The settings of a sound server, for a user who may read all.
	sound := settings{
		"redis_mode": "standalone", "role": "master", "maxmemory": "1000000", "maxmemory_policy": "noeviction",
		"aof_enabled": "1", "appendonly": "yes", "appendfsync": "everysec", "no-appendfsync-on-rewrite": "no",
		"min-replicas-to-write": "0", "min-replicas-max-lag": "10",
	}
	const online, copying = "ip=::1,port=1,state=online,offset=1,lag=1", "ip=::1,port=2,state=send_bulk,offset=0,lag=0"
	unsaid, err := Config{Endpoints: []string{"there:6379"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	several, watched, taken := unsaid, unsaid, unsaid
	several.Endpoints = []string{"here:6379", "there:6379"}
	watched.Sentinel = "main"
	taken.Replicated = true
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
		{"evicts, and the limit is not shown", lossy, settings{"maxmemory": "", "maxmemory_policy": "allkeys-lru"}, "maxmemory_policy"},
		{"evicts, and noeviction is asserted", Config{Loss: DefaultLoss, NoEviction: true}, settings{"maxmemory_policy": "allkeys-lru"}, "maxmemory_policy"},
		{"shows no policy", lossy, settings{"maxmemory": "", "maxmemory_policy": ""}, "maxmemory_policy"},
		{"shows no policy, and noeviction is asserted", Config{Loss: DefaultLoss, NoEviction: true}, settings{"maxmemory": "", "maxmemory_policy": ""}, ""},
		{"replica", lossy, settings{"role": "slave"}, "role"},
		{"cluster", lossy, settings{"redis_mode": "cluster"}, "redis_mode"},
		{"loads", lossy, settings{"loading": "1"}, "loading"},
		{"keeps nothing", lossy, settings{"aof_enabled": "0", "appendonly": "no"}, "aof_enabled"},
		{"keeps nothing, as CONFIG alone shows", lossy, settings{"aof_enabled": "", "appendonly": "no"}, "appendonly"},
		{"does not show whether it keeps anything", lossy, settings{"aof_enabled": "", "appendonly": ""}, "appendonly"},
		{"does not show it, and replicas do", replicated, settings{"aof_enabled": "", "appendonly": ""}, ""},
		{"keeps nothing, and replicas do", replicated, settings{"aof_enabled": "0", "appendonly": "no"}, ""},
		{"syncs each second, and durable is asserted", durable, nil, "appendfsync"},
		{"syncs each second, within a loss of two", Config{Loss: 2 * time.Second}, nil, ""},
		{"syncs each second, beyond a loss of less", Config{Loss: 1999 * time.Millisecond}, nil, "appendfsync"},
		{"syncs each second, and replicas matter", Config{Loss: time.Second, Replicated: true}, nil, ""},
		{"never syncs", lossy, settings{"appendfsync": "no"}, "appendfsync"},
		{"does not sync while it rewrites", durable, settings{"appendfsync": "always", "no-appendfsync-on-rewrite": "yes"}, "no-appendfsync-on-rewrite"},
		{"does not sync while it rewrites, lossy", lossy, settings{"no-appendfsync-on-rewrite": "yes"}, "no-appendfsync-on-rewrite"},
		{"no replica, and nothing said", unsaid, nil, ""},
		{"replica, and nothing said", unsaid, settings{"slave0": online}, "min-replicas-to-write"},
		{"replica that gets its first copy, and nothing said", unsaid, settings{"slave0": copying}, ""},
		{"replica, and a loss said", lossy, settings{"slave0": online}, ""},
		{"replica, and durable is asserted", durable, settings{"slave0": online, "appendfsync": "always"}, ""},
		{"replica that must answer", unsaid, settings{"slave0": online, "min-replicas-to-write": "1"}, ""},
		{"replica that must answer, without a limit", unsaid, settings{"slave0": online, "min-replicas-to-write": "1", "min-replicas-max-lag": "0"}, "min-replicas-to-write"},
		{"replica, and the settings are not shown", unsaid, settings{"slave0": online, "min-replicas-to-write": "", "min-replicas-max-lag": ""}, "min-replicas-to-write"},
		{"replicas and one must answer", unsaid, settings{"slave0": online, "slave1": online, "min-replicas-to-write": "1"}, "min-replicas-to-write"},
		{"replicas that must answer", unsaid, settings{"slave0": online, "slave1": online, "min-replicas-to-write": "2"}, ""},
		{"several endpoints, and nothing said", several, nil, "min-replicas-to-write"},
		{"several endpoints, and a replica must answer", several, settings{"min-replicas-to-write": "1"}, ""},
		{"Sentinel's, and nothing said", watched, nil, "min-replicas-to-write"},
		{"replicas matter, and nothing said", taken, nil, "min-replicas-to-write"},
		{"lag as great as the default allows", unsaid, settings{"min-replicas-to-write": "1", "min-replicas-max-lag": "12"}, ""},
		{"lag greater than the default allows", unsaid, settings{"min-replicas-to-write": "1", "min-replicas-max-lag": "13"}, "min-replicas-max-lag"},
		{"lag greater than the loss", Config{Loss: 12999 * time.Millisecond}, settings{"min-replicas-to-write": "1"}, "min-replicas-max-lag"},
		{"lag within the loss", Config{Loss: 13 * time.Second}, settings{"min-replicas-to-write": "1"}, ""},
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

func FuzzAnswers(f *testing.F) {
	servertest.FuzzAnswers(f, []string{"$5\r\nhello\r\n*2\r\n:1\r\n%1\r\n+a\r\n$-1\r\n", "*4001\r\n", "$9223372036854775807\r\n"}, newAnswers)
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
		if len(e.Version) != valueAt-len(head)-1 || head+string(e.Version)+" "+string(e.Value) != stored {
			t.Errorf("%q is decoded to %+v", stored, e)
		}
	})
}
