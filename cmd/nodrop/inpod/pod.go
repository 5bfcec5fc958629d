//go:build !standalone

package inpod

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// podLog returns the logger of programs in pods.
func podLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, nil))
}

// readPod reads what the operator gave a pod: its configuration, its certificates, and
// from them how it serves the one peer that may ask.
func readPod(path string, config any, dir, peer string) (pki.Bundle, *tls.Config, error) {
	if err := readJSON(path, config); err != nil {
		return pki.Bundle{}, nil, err
	}
	bundle, err := pki.LoadDir(dir)
	if err != nil {
		return pki.Bundle{}, nil, err
	}
	serving, err := bundle.ServerConfig(peer)
	if err != nil {
		return pki.Bundle{}, nil, fmt.Errorf("reading certificates from %s: %w", dir, err)
	}
	return bundle, serving, nil
}

// readJSON reads a file that NoDrop wrote, compressed or not; what it does not know is an error,
// because it comes from another version.
func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	if text, err = runner.Decompress(text); err != nil {
		return fmt.Errorf("reading the configuration %s: %w", path, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("reading the configuration %s: %w", path, err)
	}
	return nil
}
