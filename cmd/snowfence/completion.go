package main

import (
	"github.com/spf13/cobra"
)

// shells are those that completion writes a script for.
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
