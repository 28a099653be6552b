package main

import "os"

func run() int {
	return len(os.Environ()) // want "forbidigo: os.Environ"
}
