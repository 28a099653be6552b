module snowfence.example/snowfence/internal/lineartest

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	snowfence.example/snowfence v0.0.0
)

replace snowfence.example/snowfence => ../..
