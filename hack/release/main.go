// Command release makes the parts of a release that goreleaser leaves to others: licenses, software bills of materials,
// provenance and images. The same input makes the same output: times come from the commit.
//
//	release licenses -o FOLDER BINARY...    license texts of everything that is linked
//	release sbom -o FILE BINARY             SPDX document of a binary
//	release provenance -o FILE CHECKSUMS    in-toto statement about the artifacts, signed if there is a key
//	release image -o FILE -name NAME BINARY...   OCI image for the architecture of each binary; prints the digest
//	release verify -licenses FOLDER -sbom FILE BINARY
//
// docs/releasing.md describes the whole.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// run is the part of a command after its flags.
type run func(args []string) error

func main() {
	commands := map[string]func(*flag.FlagSet) run{
		"licenses": licensesCommand, "sbom": sbomCommand, "provenance": provenanceCommand, "image": imageCommand, "verify": verifyCommand,
	}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: release licenses|sbom|provenance|image|verify [flags] FILE...")
		os.Exit(1)
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	command := commands[os.Args[1]](flags)
	_ = flags.Parse(os.Args[2:])
	if err := command(flags.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// one returns the only argument.
func one(args []string) (string, error) {
	if len(args) != 1 {
		return "", fmt.Errorf("got %d files: give one", len(args))
	}
	return args[0], nil
}

// commitTime returns the time of the commit, from the environment.
func commitTime() (time.Time, error) {
	text := os.Getenv("NODROP_RELEASE_TIME")
	if text == "" {
		return time.Time{}, errors.New("NODROP_RELEASE_TIME is empty: set it to the time of the commit, as 2026-11-29T10:00:00Z")
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("NODROP_RELEASE_TIME: %w", err)
	}
	return at.UTC(), nil
}
