package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

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
	f := outputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		return p.answer(*f, thisBuild(), thisBuild().String()+"\n")
	}
	return cmd
}

// shells are the shells for which completion writes a script.
func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func (p program) completion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Write a completion script for a shell",
		Long: `Completion writes a script that teaches a shell to complete snowfence's verbs,
flags and presets. SHELL is bash, zsh, fish or powershell.

For bash the package bash-completion is needed, version 2 or later, which most
systems have or offer.`,
		Example: `  source <(snowfence completion bash)
  snowfence completion zsh > "${fpath[1]}/_snowfence"
  snowfence completion fish > ~/.config/fish/completions/snowfence.fish
  snowfence completion powershell | Out-String | Invoke-Expression`,
		Args:      oneOf("shell", shells()),
		ValidArgs: shells(),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			return map[string]func() error{
				"bash":       func() error { return root.GenBashCompletionV2(p.stdout, true) },
				"zsh":        func() error { return root.GenZshCompletion(p.stdout) },
				"fish":       func() error { return root.GenFishCompletion(p.stdout, true) },
				"powershell": func() error { return root.GenPowerShellCompletionWithDesc(p.stdout) },
			}[args[0]]()
		},
	}
}
