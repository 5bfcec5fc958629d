package kernelstack

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/testkit/namespacetest"
)

// A thread has files of its own, and none of the others.
func TestThreadHasItsOwnFiles(t *testing.T) {
	ns := namespacetest.Enter(t)
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	one, err := newThread(ns)
	if err != nil {
		t.Fatal(err)
	}
	err = one.do(func() error {
		if _, err := unix.FcntlInt(file.Fd(), unix.F_GETFD, 0); !errors.Is(err, unix.EBADF) {
			t.Errorf("the thread has a file of others: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	if err := one.do(func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v, want the error of the function", err)
	}
	one.close()
	if _, err := unix.FcntlInt(file.Fd(), unix.F_GETFD, 0); err != nil {
		t.Errorf("the thread closed a file of others: %v", err)
	}
}
