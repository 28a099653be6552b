package config

import (
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/engine"
)

func TestVariablesOfTheStoreURLAreReplacedAndEscaped(t *testing.T) {
	environ := []string{"PASSWORD=p/w @:?#%", "HOST=db"}
	for url, want := range map[string]string{
		"redis://me:${PASSWORD}@${HOST}/0": "redis://me:p%2Fw%20%40%3A%3F%23%25@db/0",
		"redis://host/0":                   "redis://host/0",
		"redis://me:$PASSWORD@host":        "redis://me:$PASSWORD@host",
		"file:/srv/${HOST}":                "file:/srv/db",
	} {
		if got, err := Expand(url, environ); err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", url, got, err, want)
		}
		if got := engine.Redact(want); strings.Contains(got, "p%2Fw") {
			t.Errorf("%s: shows the password: %s", url, got)
		}
	}
}

// TestVariablesOfAServiceAreNoSettings is about the variables that Kubernetes and Docker put into a container for a service
// or a link, whatever its name begins with.
func TestVariablesOfAServiceAreNoSettings(t *testing.T) {
	var environ []string
	for _, service := range []string{"SNOWFENCE_STORES", "SNOWFENCE_STORES_SHOP", "SNOWFENCE_GENERATORS_A", "SNOWFENCE_HTTP", "SNOWFENCE"} {
		for variable, value := range map[string]string{
			"SERVICE_HOST": "10.0.0.1", "SERVICE_PORT": "6379", "SERVICE_PORT_REDIS": "6379", "PORT": "tcp://10.0.0.1:6379",
			"PORT_6379_TCP": "tcp://10.0.0.1:6379", "PORT_6379_TCP_PROTO": "tcp", "PORT_6379_TCP_PORT": "6379", "PORT_6379_TCP_ADDR": "10.0.0.1",
		} {
			environ = append(environ, service+"_"+variable+"="+value)
		}
	}
	for _, variable := range []string{"PORT=udp://172.17.0.2:53", "PORT_53_UDP=udp://172.17.0.2:53", "NAME=/web/snowfence-log", "ENV_VERSION=1"} { // a link of Docker
		environ = append(environ, "SNOWFENCE_LOG_"+variable)
	}
	environ = append(environ, "SNOWFENCE_STORES_PORT_CITY=redis://h/", "SNOWFENCE_HTPP=x")
	c := load(t, Sources{Environ: environ[:len(environ)-2]})
	if got := c.Warnings(); len(got) > 0 || len(c.Stores) > 0 {
		t.Errorf("warnings %q, stores %q", got, c.Stores)
	}
	c = load(t, Sources{Environ: environ[len(environ)-2:]})
	if got := c.Warnings(); len(got) != 1 || c.Stores["port-city"] != "redis://h/" {
		t.Errorf("without a service: warnings %q, stores %q", got, c.Stores)
	}
}

// TestVariableOfAURLHasNoControlCharacters: one that is read from a file keeps its line break, and is then another password.
func TestVariableOfAURLHasNoControlCharacters(t *testing.T) {
	for _, value := range []string{"a\n", "a\r\n", "a\x00b", "a\nb", "a\x7f", "\u009b2J"} {
		_, err := Expand("postgres://me:${PW}@h/d", []string{"PW=" + value})
		if err == nil || !strings.Contains(err.Error(), "variable PW has a line break or another control character") {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func TestUnknownVariablesAreWarnedOfUnlessTheyAreAnothers(t *testing.T) {
	c := load(t, Sources{Environ: []string{
		"SNOWFENCE_HTPP=x",                  // a slip
		"SNOWFENCE_GENERATORS_A_COLOUR=red", // no key of a generator
		"SNOWFENCE_generators_a_window=1s",  // variables are capitals
		"SNOWFENCE_SERVICE_HOST=10.0.0.1",   // Kubernetes, of a service named snowfence
		"SNOWFENCE_PORT_7600_TCP_ADDR=10.0.0.1",
		"SNOWFENCE_CLOCK_OFFSET_FILE=/x",
		"SNOWFENCE_ORDER_KEYS=x", // a generator's keys
		"SNOWFENCE_GENERATORS_ORDERS_KIND=opaque",
		"SNOWFENCE_GENERATORS_ORDERS_SETTINGS_KEY_VARIABLE=SNOWFENCE_ORDER_KEYS",
		"OTHER=1",
	}, Kinds: []string{"opaque"}})
	want := []string{
		`variable SNOWFENCE_HTPP is no setting; did you mean "SNOWFENCE_HTTP"?`,
		`variable SNOWFENCE_GENERATORS_A_COLOUR is no setting`,
		`variable SNOWFENCE_generators_a_window is no setting`,
	}
	if got := c.Warnings(); !slices.Equal(got, want) {
		t.Errorf("warnings are %q, want %q", got, want)
	}
}

// TestVariablesLeadBackToOneKey is the rule that generatorPath rests on.
func TestVariablesLeadBackToOneKey(t *testing.T) {
	s := newSchema()
	suffix := func(f *field) string { return "_" + strings.TrimPrefix(environmentName(f.name), EnvironmentPrefix) }
	for _, a := range s.generator {
		for _, b := range s.generator {
			if a != b && strings.HasSuffix(suffix(a), suffix(b)) {
				t.Errorf("the variable of %s could be that of %s", a.Path, b.Path)
			}
		}
	}
	for _, name := range []string{"a", "orders", "eu-orders", "a-policy", "settings", "settings-a", "a1-b2"} {
		if wrong := checkName(name); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
		for _, f := range s.generator {
			want := strings.Replace(f.Path, "NAME", name, 1)
			want = strings.Replace(want, "KEY", "window", 1)
			if got, _ := s.pathOf(environmentName(want)); got != want {
				t.Errorf("%s leads to %s, want %s", environmentName(want), got, want)
			}
		}
	}
}
