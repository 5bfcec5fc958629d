//go:build linux

package runfolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// endProcesses ends the processes that outlived the one that started them. Their numbers are in files *.pid of the folder and of the
// folders in it, and their arguments have the path of the folder.
func endProcesses(path string) error {
	files, err := filepath.Glob(filepath.Join(path, "*.pid"))
	if err != nil {
		return err
	}
	inner, err := filepath.Glob(filepath.Join(path, "*", "*.pid"))
	if err != nil {
		return err
	}
	files = append(files, inner...)
	var errs []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || pid <= 1 {
			continue // it ended before it wrote its number
		}
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !strings.Contains(string(command), path+"/") {
			continue // it has ended
		}
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("ending process %d: %w", pid, err))
		}
	}
	return errors.Join(errs...)
}
