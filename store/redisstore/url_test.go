package redisstore_test

import (
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence/store/redisstore"
)

func FuzzParseURL(f *testing.F) {
	f.Add("redis://me:hunter2@[::1]:1,b/0?prefix=a:&loss=1s&sentinel=x")
	f.Add("rediss://a?ca=/no&durable=true")
	f.Add("redis://u:hunter2/@a")
	f.Fuzz(func(t *testing.T, u string) {
		c, err := redisstore.ParseURL(u)
		if err != nil {
			return
		}
		if len(c.Endpoints) == 0 || c.Loss < 0 || c.Durable && c.Loss > 0 {
			t.Errorf("%q means %s", u, shown(c))
		}
		// A long password does not stand in what the config shows by chance.
		if len(c.Password) > 8 && !strings.Contains(strings.ReplaceAll(u, string(c.Password), ""), string(c.Password)) {
			rest := c
			rest.Password = ""
			if fmt.Sprint(rest) != strings.Replace(fmt.Sprint(c), "xxxxx", "", 1) {
				t.Errorf("%q shows its password as %v", u, c)
			}
		}
	})
}

// shown shows all of a config, passwords and all.
func shown(c redisstore.Config) string {
	c.TLS = nil
	return fmt.Sprintf("%+v with password %q", c, string(c.Password))
}
