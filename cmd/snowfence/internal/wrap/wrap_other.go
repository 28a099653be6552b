//go:build !linux

package wrap

import (
	"context"

	"snowfence.example/snowfence"
)

// Run returns an error: other systems can't list a process's descendants.
func Run(context.Context, Config) (int, error) {
	return 0, snowfence.NewError(snowfence.ClassUsage, "exec needs Linux: other systems can't show whether a process of the program is left")
}
