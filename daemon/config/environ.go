package config

import (
	"maps"
	"path/filepath"
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
func (d *draft) readEnvironment() {
	keys := map[string]string{} // path of a configuration's key, by variable
	for _, f := range d.config {
		keys[f.Environment()] = f.Path
	}
	var unknown []string
	inFile, services := d.named(), d.services()
	for _, pair := range d.environ {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, EnvironmentPrefix) || foreign(name) || slices.ContainsFunc(services, func(service string) bool { return ofService(name, service) }) {
			continue
		}
		origin := Origin{Source: FromEnvironment, Name: name}
		path, known := keys[name]
		if !known {
			var chosen string // by the user
			if path, chosen, known = d.pathOf(name); !known {
				unknown = append(unknown, name)
				continue
			} else if wrong := checkName(chosen); wrong != "" {
				d.faultAt(origin, path, chosen, "%s", wrong)
				continue
			}
		}
		if generator, _, ok := splitGenerator(path); ok && len(inFile) > 0 && !slices.Contains(inFile, generator) {
			d.warnings = append(d.warnings, "variable "+name+" makes a generator "+generator+", which the file does not have"+text.DidYouMean(generator, inFile))
		}
		d.put(path, value, origin)
	}
	names := slices.Sorted(maps.Keys(keys))
	for _, name := range unknown {
		if !d.holdsKeys(name) {
			d.warnings = append(d.warnings, "variable "+name+" is no setting"+text.DidYouMean(name, names))
		}
	}
}

// pathOf leads from a variable to a key below a name that users choose. At most one way fits: no
// key ends in another after an underscore, and no generator's name ends in "-settings".
func (s *schema) pathOf(variable string) (path, chosen string, ok bool) {
	if rest, ok := strings.CutPrefix(variable, environmentName(storeSection)+"_"); ok {
		chosen = pathName(rest)
		return join(storeSection, chosen), chosen, true
	}
	rest, ok := strings.CutPrefix(variable, environmentName(generatorSection)+"_")
	if !ok || strings.ToUpper(rest) != rest {
		return "", "", false
	}
	if name, key, ok := strings.Cut(rest, "_"+strings.ToUpper(settingSection)+"_"); ok && name != "" && key != "" {
		return join(generatorSection, pathName(name), settingSection, pathName(key)), pathName(name), true
	}
	for _, f := range s.generator {
		suffix := "_" + strings.TrimPrefix(environmentName(f.name), EnvironmentPrefix)
		if name, ok := strings.CutSuffix(rest, suffix); ok && name != "" {
			return join(generatorSection, pathName(name), f.name), pathName(name), true
		}
	}
	return "", "", false
}

// pathName undoes environmentName for a name without dots and underscores.
func pathName(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }

// named returns the names of the generators so far, in order.
func (d *draft) named() (names []string) {
	for path := range d.set {
		if name, key, ok := splitGenerator(path); ok && key == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// holdsKeys reports whether a generator has its keys in a variable.
func (d *draft) holdsKeys(variable string) bool {
	for path, s := range d.set {
		if _, key, _ := splitGenerator(path); key == join(settingSection, keyVariable) && s.text == variable {
			return true
		}
	}
	return false
}

// readStateDirectory takes the folder that systemd gives a unit, unless one is set. Of several it is the first.
func (d *draft) readStateDirectory() {
	const name = "STATE_DIRECTORY"
	first, _, _ := strings.Cut(d.lookup(name), ":")
	if _, given := d.set[keyData]; !given && first != "" {
		d.put(keyData, first, Origin{Source: FromEnvironment, Name: name})
	}
}

// stateDirectory returns where a program without systemd keeps its state: what XDG says, which has it that a
// relative path is no path, or the usual place below the home directory; empty if none is known.
func (c Config) stateDirectory() string {
	if state := c.lookup("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "snowfence")
	}
	if home := c.lookup("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "snowfence")
	}
	return ""
}

// foreign tells variables that are no settings: the two named above, and those of a service named snowfence.
func foreign(name string) bool {
	return name == EnvironmentFile || name == EnvironmentClockOffset || ofService(name, strings.TrimSuffix(EnvironmentPrefix, "_"))
}

// services returns the beginnings of the names of variables by which Kubernetes and Docker tell a container of its services
// and links. A service snowfence-stores has SNOWFENCE_STORES_SERVICE_HOST, and SNOWFENCE_STORES_PORT with the URL of a socket.
func (c Config) services() (services []string) {
	for _, pair := range c.environ {
		name, value, _ := strings.Cut(pair, "=")
		service, host := strings.CutSuffix(name, "_SERVICE_HOST")
		if host {
			_, host = c.Variable(service + "_SERVICE_PORT")
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

// Expand is [engine.Expand] with the variables of an environment.
func Expand(storeURL string, environ []string) (string, error) {
	return engine.Expand(storeURL, Config{environ: environ}.lookup)
}

// lookup returns a variable's value, or nothing.
func (c Config) lookup(name string) string {
	value, _ := c.Variable(name)
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
