package apart

import (
	"io/fs"
	"syscall"
	"testing"
)

// An archive that is not there, such as a directory that is not mounted, is not available: no result is to blame.
func TestMissingArchive(t *testing.T) {
	gone := &fs.PathError{Op: "stat", Path: "/archive", Err: syscall.ENOENT}
	if cause := CauseOf(failed(CauseUnavailable, gone)); cause != CauseUnavailable {
		t.Errorf("the cause is %q, want %q", cause, CauseUnavailable)
	}
	if cause := CauseOf(failed(CauseUnreadable, gone)); cause != CauseMissing {
		t.Errorf("the cause of a document that is not there is %q, want %q", cause, CauseMissing)
	}
}
