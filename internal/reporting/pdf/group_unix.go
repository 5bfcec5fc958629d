//go:build unix

package pdf

import (
	"os/exec"
	"syscall"
)

// ownGroup lets a command be ended with its children: some browsers are started by a script.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
