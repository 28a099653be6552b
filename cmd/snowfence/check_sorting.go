package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/idsort"
)

// sorting is how ids are sorted, as far as flags say.
type sorting struct {
	memory   int64
	temp     string
	limit    int
	progress bool // told also where nobody sees it move
}

// add adds the flags to a verb. What the limit is of, its caller says.
func (s *sorting) add(cmd *cobra.Command, limit int, of string) {
	*s = sorting{memory: idsort.DefaultMemory, limit: limit}
	flags := cmd.Flags()
	flags.Var(&parsed[int64]{value: &s.memory, text: "1GiB", word: "SIZE", parse: parseMemory}, "memory", "what the program may use of memory, at least 64MiB")
	flags.Var(textFlag(&s.temp, "DIR"), "temp", "folder for what does not fit the memory (default: the system's)")
	flags.Var(&parsed[int]{value: &s.limit, text: fmt.Sprint(limit), word: "N", parse: parseLimit}, "limit", of)
	flags.BoolVar(&s.progress, "progress", false, "tell how far it is, also where standard error is no terminal")
}
