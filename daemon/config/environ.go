package config

import (
	"maps"
	"slices"
	"strings"

	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/text"
)

// Variables that the program reads and that are no settings.
const (
	// EnvironmentFile names the configuration file.
	EnvironmentFile = EnvironmentPrefix + "CONFIG"

	// EnvironmentClockOffset names the file with the clock's offset, for fault tests.
	EnvironmentClockOffset = EnvironmentPrefix + "CLOCK_OFFSET_FILE"
)

// readEnvironment takes the settings of SNOWFENCE_ variables. One that is no key is
// only warned of: orchestrators put such variables into every container once there is a
// service named snowfence, so refusing them would keep the program from starting.
func (s *settings) readEnvironment(environ []string) {
	keys := map[string]string{} // path of a configuration's key, by variable
	for _, e := range configKeys() {
		keys[e.Environment()] = e.Path
	}
	var unknown []string
	inFile, services := s.generators(), servicesOf(environ)
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, EnvironmentPrefix) || foreign(name) || slices.ContainsFunc(services, func(service string) bool { return ofService(name, service) }) {
			continue
		}
		origin := Origin{Source: FromEnvironment, Name: name}
		path, known := keys[name]
		if !known {
			path, known = generatorPath(name)
		}
		if rest, ok := strings.CutPrefix(name, environmentName(storeSection)+"_"); ok && !known {
			path, known = join(storeSection, pathName(rest)), true
		}
		if !known {
			unknown = append(unknown, name)
			continue
		}
		if chosen, ok := chosenName(path); ok {
			if wrong := checkName(chosen); wrong != "" {
				s.fault(origin, path, chosen, "%s", wrong)
				continue
			}
		}
		if name, _, ok := splitGenerator(path); ok && len(inFile) > 0 && !slices.Contains(inFile, name) {
			s.warnings = append(s.warnings, "variable "+origin.Name+" makes a generator "+name+", which the file does not have"+text.DidYouMean(name, inFile))
		}
		s.put(path, value, origin)
	}
	names := slices.Sorted(maps.Keys(keys))
	for _, name := range unknown {
		if !s.holdsKeys(name) {
			s.warnings = append(s.warnings, "variable "+name+" is no setting"+text.DidYouMean(name, names))
		}
	}
}

// generators returns the names of the generators so far, in order.
func (s *settings) generators() (names []string) {
	for path := range s.origins {
		if name, key, ok := splitGenerator(path); ok && key == "" {
			names = append(names, name)
		}
	}
	return slices.Sorted(slices.Values(names))
}

// holdsKeys reports whether a generator has its keys in a variable.
func (s *settings) holdsKeys(variable string) bool {
	for path, text := range s.texts {
		if _, key, _ := splitGenerator(path); key == join(settingSection, keyVariable) && text == variable {
			return true
		}
	}
	return false
}

// foreign tells variables that are no settings: the two named above, and those of a service named snowfence.
func foreign(name string) bool {
	return name == EnvironmentFile || name == EnvironmentClockOffset || ofService(name, strings.TrimSuffix(EnvironmentPrefix, "_"))
}

// servicesOf returns the beginnings of the names of variables by which Kubernetes and Docker tell a container of its services
// and links. A service snowfence-stores has SNOWFENCE_STORES_SERVICE_HOST, and SNOWFENCE_STORES_PORT with the URL of a socket.
func servicesOf(environ []string) (services []string) {
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		service, host := strings.CutSuffix(name, "_SERVICE_HOST")
		if host {
			_, host = Config{environ: environ}.Variable(service + "_SERVICE_PORT")
		}
		link, port := strings.CutSuffix(name, "_PORT")
		switch scheme, _, url := strings.Cut(value, "://"); {
		case !strings.HasPrefix(name, EnvironmentPrefix):
		case host:
			services = append(services, service)
		case port && url && slices.Contains([]string{"tcp", "udp", "sctp"}, scheme):
			services = append(services, link)
		}
	}
	return services
}

// ofService tells the variables of a service or link.
func ofService(name, service string) bool {
	rest, ok := strings.CutPrefix(name, service+"_")
	return ok && (rest == "NAME" || rest == "PORT" || strings.HasPrefix(rest, "PORT_") ||
		strings.HasPrefix(rest, "SERVICE_") || strings.HasPrefix(rest, "ENV_"))
}

// generatorPath leads from a variable to a generator's key. At most one way fits: no
// key ends in another after an underscore, and no generator's name ends in "-settings".
func generatorPath(variable string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(variable, environmentName(generatorSection)+"_")
	if !ok || strings.ToUpper(rest) != rest {
		return "", false
	}
	if name, key, ok := strings.Cut(rest, "_"+strings.ToUpper(settingSection)+"_"); ok && name != "" && key != "" {
		return join(generatorSection, pathName(name), settingSection, pathName(key)), true
	}
	for _, e := range generatorKeys() {
		suffix := strings.TrimPrefix(e.Environment(), EnvironmentPrefix)
		if name, ok := strings.CutSuffix(rest, "_"+suffix); ok && name != "" {
			return join(generatorSection, pathName(name), e.Path), true
		}
	}
	return "", false
}

// chosenName returns the name in a path that users choose, of a generator or a store.
func chosenName(path string) (string, bool) {
	if name, ok := strings.CutPrefix(path, storeSection+"."); ok {
		return name, true
	}
	name, _, ok := splitGenerator(path)
	return name, ok
}

// pathName undoes environmentName for a name without dots and underscores.
func pathName(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }

// lookup returns a variable's value, or nothing.
func lookup(environ []string, name string) string {
	value, _ := Config{environ: environ}.Variable(name)
	return value
}

// Variable returns the value of an environment variable as [Load] was given it. set is false for
// one that is not there, and true for one that is empty.
func (c Config) Variable(name string) (value string, set bool) {
	for _, pair := range slices.Backward(c.environ) { // the last one counts
		if value, set = strings.CutPrefix(pair, name+"="); set {
			return value, true
		}
	}
	return "", false
}

// Expand is [engine.Expand] with the variables of an environment.
func Expand(storeURL string, environ []string) (string, error) {
	return engine.Expand(storeURL, func(name string) string { return lookup(environ, name) })
}
