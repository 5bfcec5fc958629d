package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/base/hint"
)

// Variable names the environment variable with the path of the browser.
const Variable = "NODROP_CHROMIUM"

// names of the browser in PATH, the smallest first.
var names = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// remedy describes how to get a browser.
const remedy = "install Chromium (Debian: apt-get install chromium-headless-shell), set " + Variable + " to its path, or write -o html and print it from a browser"

// timeout is the maximum time to print a report.
const timeout = 3 * time.Minute

// Browser is an installed Chromium.
type Browser struct{ path string }

// Find returns the browser that NODROP_CHROMIUM names, or the first one in PATH.
func Find() (*Browser, error) {
	if given := os.Getenv(Variable); given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return nil, hint.With(fmt.Errorf("%s is %q, which cannot be run: %w", Variable, given, err), remedy)
		}
		return &Browser{path}, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return &Browser{path}, nil
		}
	}
	return nil, hint.With(fmt.Errorf("a PDF needs Chromium, and PATH has none (%s)", strings.Join(names, ", ")), remedy)
}

// Print returns a page as PDF. The policy of the page has to forbid scripts and addresses.
func (b *Browser) Print(ctx context.Context, page []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "nodrop-pdf-")
	if err != nil {
		return nil, fmt.Errorf("printing the report: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	from, to := filepath.Join(dir, "report.html"), filepath.Join(dir, "report.pdf")
	if err := os.WriteFile(from, page, 0o600); err != nil {
		return nil, fmt.Errorf("printing the report: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	args := []string{
		"--headless", "--disable-gpu", "--disable-extensions", "--no-first-run",
		"--user-data-dir=" + filepath.Join(dir, "profile"), "--no-pdf-header-footer", "--print-to-pdf=" + to, "file://" + from,
	}
	if os.Geteuid() == 0 {
		args = append([]string{"--no-sandbox"}, args...) // Chromium refuses to be sandboxed as root.
	}
	cmd := exec.CommandContext(ctx, b.path, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.WaitDelay = 5 * time.Second
	ownGroup(cmd)
	err = cmd.Run()
	text, reading := os.ReadFile(to)
	if err == nil {
		err = reading
	}
	if err == nil && !bytes.HasPrefix(text, []byte("%PDF-")) {
		err = errors.New("it wrote no PDF")
	}
	if err != nil {
		return nil, hint.With(fmt.Errorf("printing the report with %s: %w%s", b.path, err, lastLine(said.String())), remedy)
	}
	return text, nil
}

// lastLine is the last line of a text, in parentheses; empty if there is none.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return " (" + last + ")"
	}
	return ""
}
