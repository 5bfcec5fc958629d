package surface

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBreaksOfExitCodes(t *testing.T) {
	read := func(text string) Surface {
		t.Helper()
		file := filepath.Join(t.TempDir(), "exit.go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := ExitCodes(file)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := read(codes)
	said(t, read(strings.Replace(codes, "Use = 1", "Use = 9", 1)).Breaks(before), "exit code 1 is Use")
	said(t, read(strings.Replace(codes, ")", "\tFailed = 2\n)", 1)).Breaks(before), "")
}
