package main

import (
	"cmp"
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
		Long: `Check reads the configuration as serve does, and names everything that is wrong
with it, with line and column. It reads the files of tokens and of TLS, and
the files in the store's URL. It opens no store and no port. It warns when ids
will stop. The exit code of an invalid configuration is 2. -o json
prints {"valid":…,"generators":[…],"faults":[{"key","value","from","reason"}]}.`,
		Example: `  snowfence config check
  snowfence config check --config snowfence.yaml -o json`,
	}
	f := outputFlag(cmd)
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
		return cmp.Or(p.answer(*f, document, text), err)
	}
	return cmd
}

func (p program) configPrint() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print every setting in effect and where it came from",
		Long: `Print writes the whole configuration: as text it is a YAML file with a comment
beside each setting that is not at its default, saying where it came from. A
password in a URL is printed as xxxxx: write ${NAME} there, so that a variable
has it. -o json prints {"settings":[{"key","value","from"}]}.`,
		Example: `  snowfence config print
  snowfence config print --config snowfence.yaml
  SNOWFENCE_HTTP=127.0.0.1:8080 snowfence config print -o json`,
	}
	f := outputFlag(cmd)
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
		return p.answer(*f, page.Object{"settings", settings}, text)
	}
	return cmd
}
