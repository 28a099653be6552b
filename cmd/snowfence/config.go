package main

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/config"
)

func (p program) config() *cobra.Command {
	return group(&cobra.Command{
		Use:   "config",
		Short: "Check or print the configuration",
		Long: `Settings come from flags, SNOWFENCE_ variables, one YAML file and defaults, the
first of these winning. An unknown key in the file is an error. A variable that
is no setting is only a warning, because other programs set variables too.`,
		Example: `  snowfence config check --config snowfence.yaml
  snowfence config print > snowfence.yaml`,
	}, p.configCheck(), p.configPrint())
}

func (p program) configCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say whether the configuration is valid",
		Long: `Check reads the configuration and its files as serve does, and names everything
that is wrong, with line and column (exit code 2). It opens no store and no
port.`,
		Example: `  snowfence config check
  snowfence config check --config snowfence.yaml -o json`,
	}
	out := p.report(cmd)
	s := settingFlags(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := s.load(p)
		err = config.Join(err, daemon.Check(c))
		p.warn(daemon.Warnings(c, p.clock.Wall())...)
		if err == nil {
			p.warn(c.StoreWarnings()...)
			p.warn(c.LayoutWarnings(p.clock.Wall())...)
		}
		faults, text := []page.Object{}, "" // as text the faults go to standard error
		for _, e := range config.Faults(err) {
			faults = append(faults, page.Object{"key?", e.Key, "value?", e.Value, "from", e.Origin.String(), "reason", e.Reason})
		}
		if err == nil {
			text = "valid; generators: " + strings.Join(c.Names(), ", ") + "\n"
		}
		document := page.Object{"valid", err == nil, "generators", append([]string{}, c.Names()...), "faults", faults}
		return cmp.Or(out.answer(document, text), err)
	}
	return cmd
}

func (p program) configPrint() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print every setting in effect and where it came from",
		Long: `Print writes the whole configuration: as text it is a YAML file with a comment
beside each setting that is not at its default, to show where it came from. A
password in a URL is printed as xxxxx: write ${NAME} there.`,
		Example: `  snowfence config print --config snowfence.yaml
  SNOWFENCE_HTTP=127.0.0.1:8080 snowfence config print -o json`,
	}
	out := p.report(cmd)
	s := settingFlags(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := s.load(p)
		if err != nil {
			return err
		}
		settings := []page.Object{}
		for _, v := range c.Values() {
			settings = append(settings, page.Object{"key", v.Key, "value", v.Text, "from", v.Origin.String()})
		}
		text, err := config.YAML(c.Values())
		if err != nil {
			return err
		}
		return out.answer(page.Object{"settings", settings}, text)
	}
	return cmd
}

// build is the version and the origin of the binary.
type build struct {
	Version  string `json:"version"` // of the module, "devel" when built from a work tree
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // of the revision
	Modified bool   `json:"modified"`       // the tree differed from the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild is the running binary's.
func thisBuild() build {
	info, _ := debug.ReadBuildInfo() // nil where there is none
	return buildOf(info)
}

// buildOf reads the facts that the toolchain stored; info may be nil.
func buildOf(info *debug.BuildInfo) build {
	b := build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	stored := map[string]string{}
	for _, s := range info.Settings {
		stored[s.Key] = s.Value
	}
	b.Revision, b.Time, b.Modified = stored["vcs.revision"], stored["vcs.time"], stored["vcs.modified"] == "true"
	return b
}

// String is the line that the verb prints.
func (b build) String() string {
	line := "snowfence " + b.Version
	if b.Revision != "" {
		line += " " + b.Revision
	}
	if b.Modified {
		line += " modified"
	}
	return line + " " + b.Go + " " + b.Platform
}

func (p program) version() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version, the revision and the Go version",
		Example: "  snowfence version\n  snowfence version -o json",
	}
	out := p.report(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		return out.answer(thisBuild(), thisBuild().String()+"\n")
	}
	return cmd
}
