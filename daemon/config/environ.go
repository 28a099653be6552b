package config

import (
	"path/filepath"
	"slices"
	"strings"

	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/text"
)

// Variables that the program reads beside its settings.
const (
	// EnvironmentFile names the configuration file.
	EnvironmentFile = EnvironmentPrefix + "CONFIG"

	// EnvironmentClockOffset names the file with the clock's offset, for fault tests.
	EnvironmentClockOffset = EnvironmentPrefix + "CLOCK_OFFSET_FILE"
)

// noSettings returns the program's other variables: the ones that it reads, and the ones that it gives
// to the program of 'snowfence exec', which may run it again.
func noSettings() []string {
	return []string{
		EnvironmentFile, EnvironmentClockOffset,
		EnvironmentPrefix + "WORKER_ID", EnvironmentPrefix + "DATACENTER_ID", EnvironmentPrefix + "EPOCH_MS",
	}
}

// readEnvironment takes the settings of SNOWFENCE_ variables. An unknown one only causes a warning:
// orchestrators put such variables into every container once there is a service named snowfence, so
// refusing them would keep the program from starting.
func (d *draft) readEnvironment() {
	var unknown []string
	services, inFile := d.services(), d.named()
	for _, pair := range d.environ {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, EnvironmentPrefix) || slices.Contains(noSettings(), name) ||
			slices.ContainsFunc(services, func(service string) bool { return ofService(name, service) }) {
			continue
		}
		origin := Origin{Source: FromEnvironment, Name: name}
		path, chosen := d.pathOf(name)
		if path == "" {
			unknown = append(unknown, name)
			continue
		}
		if wrong := checkName(chosen); chosen != "" && wrong != "" {
			d.faultAt(origin, path, chosen, "%s", wrong)
			continue
		}
		if generator, _, ok := splitGenerator(path); ok && len(inFile) > 0 && !slices.Contains(inFile, generator) {
			d.warnings = append(d.warnings, "variable "+name+" makes a generator "+generator+", which the file does not have"+text.DidYouMean(generator, inFile))
		}
		d.put(path, value, origin)
	}
	var known []string
	for _, f := range d.config {
		known = append(known, f.Environment())
	}
	slices.Sort(known)
	for _, name := range unknown {
		if !d.holdsKeys(name) {
			d.warnings = append(d.warnings, "variable "+name+" is no setting"+text.DidYouMean(name, known))
		}
	}
}

// pathOf leads from a variable to its key, and to the name in it that a user chose. At most one way fits if settings of a
// kind are looked at first: no key ends in another after an underscore, and generators' names can't end
// in "-settings".
func (s *schema) pathOf(variable string) (path, chosen string) {
	for _, f := range slices.Backward(slices.Concat(s.config, s.generator)) {
		before, after, named := strings.Cut(f.Path, anyName)
		after, _, keyed := strings.Cut(after, anySetting)
		name, ok := strings.CutPrefix(variable, environmentName(before))
		key, end := "", environmentName(after)[len(EnvironmentPrefix):]
		if keyed {
			name, key, _ = strings.Cut(name, end)
		} else if ok {
			name, ok = strings.CutSuffix(name, end)
		}
		if ok && named == (name != "") && keyed == (key != "") && strings.ToUpper(variable) == variable {
			return before + pathName(name) + after + pathName(key), pathName(name)
		}
	}
	return "", ""
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
	if _, given := d.set["data"]; !given && first != "" {
		d.put("data", first, Origin{Source: FromEnvironment, Name: name})
	}
}

// stateDirectory returns where a program without systemd keeps its state: the directory of XDG, which
// ignores a relative path, or the usual place below the home directory; empty if neither is set.
func (c Config) stateDirectory() string {
	if state := c.lookup("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "snowfence")
	}
	if home := c.lookup("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "snowfence")
	}
	return ""
}

// services returns the beginnings of the names of variables by which Kubernetes and Docker show a container its services
// and links. A service snowfence-stores has SNOWFENCE_STORES_SERVICE_HOST, and SNOWFENCE_STORES_PORT with the URL of a socket.
// A service named snowfence is always among them.
func (c Config) services() []string {
	services := []string{strings.TrimSuffix(EnvironmentPrefix, "_")}
	for _, pair := range c.environ {
		name, value, _ := strings.Cut(pair, "=")
		if service, ok := strings.CutSuffix(name, "_SERVICE_HOST"); ok {
			if _, ok := c.Variable(service + "_SERVICE_PORT"); ok {
				services = append(services, service)
			}
		}
		scheme, _, url := strings.Cut(value, "://")
		if link, ok := strings.CutSuffix(name, "_PORT"); ok && url && slices.Contains([]string{"tcp", "udp", "sctp"}, scheme) {
			services = append(services, link)
		}
	}
	return services
}

// ofService reports whether a variable belongs to a service or link.
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
