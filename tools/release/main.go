// Command release makes two parts of a release from the programs that were built for it: a bill of materials for each, and the
// image of those for Linux. Equal programs make equal bytes. tools/release.sh runs it.
package main

import (
	"debug/buildinfo"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// release names the release that is made, and its folder.
type release struct {
	version string // such as v0.1.0
	out     string
}

// program is the program built for one platform.
type program struct {
	binary   []byte
	info     *buildinfo.BuildInfo
	settings map[string]string // of the toolchain
}

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "version such as v0.1.0")
	flag.StringVar(&r.out, "out", "", "folder for the files")
	flag.Parse()
	if err := r.write(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// write makes the files from those of the programs.
func (r release) write(files []string) error {
	var linux []program
	for _, file := range files {
		p, err := readProgram(file)
		if err != nil {
			return err
		}
		if err := r.writeBill(p); err != nil {
			return fmt.Errorf("bill of materials of %s: %w", file, err)
		}
		if p.settings["GOOS"] == "linux" {
			linux = append(linux, p)
		}
	}
	if err := r.writeImage(linux); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	return nil
}

func readProgram(file string) (p program, err error) {
	if p.info, err = buildinfo.ReadFile(file); err != nil {
		return p, err
	}
	p.settings = map[string]string{}
	for _, s := range p.info.Settings {
		p.settings[s.Key] = s.Value
	}
	p.binary, err = os.ReadFile(file)
	return p, err
}

// committed is the time of the revision. Every file has it instead of the time of the build.
func (p program) committed() time.Time {
	at, err := time.Parse(time.RFC3339, p.settings["vcs.time"])
	if err != nil {
		return time.Unix(0, 0).UTC() // of a tree without a revision
	}
	return at
}

// path is that of a file of the release for a program's platform.
func (r release) path(p program, kind, end string) string {
	return filepath.Join(r.out, "snowfence_"+r.version+kind+"_"+p.settings["GOOS"]+"_"+p.settings["GOARCH"]+end)
}
