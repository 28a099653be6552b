package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/doctor"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
)

func (p program) doctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say before the first start what will go wrong",
		Long: `Doctor reads the settings as serve does, and looks at all that a daemon of them
needs: ports, disk, clock, store, namespaces, counters and limits. It names each
trouble with a remedy. It makes nothing, and writes to no store, so a store's
right to write is not tried. It may run beside a daemon.

"wrong" keeps the daemon from starting, from giving ids or from being trusted.
"watch" is for an operator to look at. "note" is good to know. The figures that
were seen come first. -o json prints {"healthy","findings":[{"severity","check",
"text","remedy"}]}, with the figures as "seen".

Exit codes: 0 healthy, 1 something is wrong, or to watch with --strict; 2 usage,
130 interrupted by SIGINT, 143 by SIGTERM.`,
		Example: `  snowfence doctor
  snowfence doctor --config /etc/snowfence.yaml --strict
  snowfence doctor -o json | jq '.findings[] | select(.severity == "wrong")'`,
	}
	f, s := outputFlag(cmd), settingFlags(cmd)
	strict := cmd.Flags().Bool("strict", false, "exit with 1 for a finding to watch, too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		quiet := p
		quiet.stderr = io.Discard // its warnings are findings here
		c, err := s.load(quiet)
		r := doctor.Examine(cmd.Context(), doctor.Config{Settings: c, Loading: err, Clock: p.clock, Open: doctor.OpenReading})
		if cmd.Context().Err() != nil {
			return p.interrupted(cmd.Context(), "; what was found is not complete")
		}
		var seen, troubles page.Page
		counts, rows := map[doctor.Severity]int{}, [][]string(nil)
		for _, x := range r.Findings {
			counts[x.Severity]++
			if x.Severity == doctor.Seen {
				rows = append(rows, []string{x.Check, x.Text})
				continue
			}
			troubles.Line("")
			troubles.Wrapped(fmt.Sprintf("%-7s", x.Severity+":"), x.Check+": "+x.Text)
			troubles.Wrapped("       ", x.Remedy)
		}
		seen.Table("", "check,seen", rows)
		failed, verdict := counts[doctor.Wrong] > 0 || *strict && counts[doctor.Watch] > 0, "healthy"
		if failed {
			verdict = "not healthy"
		}
		troubles.Line("\n%s: %d wrong, %d to watch", verdict, counts[doctor.Wrong], counts[doctor.Watch])
		if err := p.answer(*f, page.Object{"healthy", !failed, "findings", r.Findings}, seen.String()+troubles.String()); err != nil || !failed {
			return err
		}
		return reported(exitFailure)
	}
	return cmd
}
