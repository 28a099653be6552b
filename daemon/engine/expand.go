package engine

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// variable is ${NAME} in the URL of a store.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Expand puts variables in place of ${NAME} in a URL, so that a password need not stand
// in the configuration or on a command line. They are escaped, so a password may hold
// any characters, but in the URL of a folder, where escapes have no meaning; that may begin with ~/,
// too. A variable that is not set or empty is an error, beside the URL with a word in its place. Lookup
// returns the value of a variable, or nothing.
func Expand(storeURL string, lookup func(name string) string) (string, error) {
	_, folder := Folder(storeURL)
	var unset, broken []string
	placeholder := "unset" // so that other faults of the URL are found, too
	if folder {
		placeholder = "/unset"
	}
	expanded := variable.ReplaceAllStringFunc(storeURL, func(reference string) string {
		name := variable.FindStringSubmatch(reference)[1]
		value := lookup(name)
		switch {
		case value == "":
			unset = append(unset, name)
			return placeholder
		case strings.ContainsFunc(value, unicode.IsControl):
			broken = append(broken, name)
			return placeholder
		case folder:
			return value
		}
		return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
	})
	switch {
	case len(unset) > 0:
		return expanded, fmt.Errorf("variable %s is not set or empty", strings.Join(unset, ", "))
	case len(broken) > 0:
		return expanded, fmt.Errorf("variable %s has a line break or another control character in it", strings.Join(broken, ", "))
	case folder:
		path, _ := Folder(expanded)
		written, _ := Folder(storeURL)
		if first := variable.FindStringIndex(written); first != nil && first[0] == 0 && !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
			return expanded, errors.New("the variable in front must hold a path that begins with / or ~/, and no quotes around it")
		}
		path, err := ExpandHome(path, lookup)
		return "file:" + path, err
	}
	return expanded, nil
}

// ExpandHome puts the home directory in place of a ~ that begins a path, as a shell does where nothing quotes it.
func ExpandHome(path string, lookup func(name string) string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	home := lookup("HOME")
	if !filepath.IsAbs(home) {
		return path, errors.New("begins with ~/, and variable HOME is no absolute path: write the whole path")
	}
	return filepath.Join(home, rest), nil
}

// urlFile is a file that the URL of a store names.
var urlFile = regexp.MustCompile(`([?&](?:ca|cert|key|creds|(?:sentinel-)?password-file)=)([^&]+)`)

// AnchorFiles makes the relative paths in a store's URL whole.
func AnchorFiles(storeURL, folder string) string {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return storeURL
	}
	folder = strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(folder))
	return urlFile.ReplaceAllStringFunc(storeURL, func(file string) string {
		at := strings.IndexByte(file, '=') + 1
		if path := file[at:]; strings.IndexByte("/~$", path[0]) >= 0 || strings.HasPrefix(strings.ToUpper(path), "%2F") {
			return file
		}
		return file[:at] + folder + "/" + file[at:]
	})
}

// Folder returns the path of the URL of a folder. ok is false for another URL.
func Folder(storeURL string) (path string, ok bool) {
	if scheme, path, ok := strings.Cut(storeURL, ":"); ok && strings.EqualFold(scheme, "file") {
		return path, true
	}
	return "", false
}
