package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// daemon is a program that runs as long as the node does.
type daemon struct {
	name string
	args []string
}

// restartDelay keeps a daemon that fails at once from taking a whole core.
const restartDelay = time.Second

// supervisor starts daemons, starts them again when they exit, and reaps what
// is left to process 1 by others (containerd's shims, for one).
//
// It is the only one to wait for children in its process: os/exec must not be
// used together with it, since either could reap the other's children.
type supervisor struct {
	logs        string
	environment []string

	mu       sync.Mutex // held from fork to registration: a child that dies at once is still found
	running  map[int]daemon
	hasChild *sync.Cond
}

func newSupervisor(logs string, environment []string) *supervisor {
	s := &supervisor{logs: logs, environment: environment, running: map[int]daemon{}}
	s.hasChild = sync.NewCond(&s.mu)
	go s.reap()
	return s
}

// run starts a daemon for good.
func (s *supervisor) run(d daemon) error {
	path, err := exec.LookPath(d.name)
	if err != nil {
		return fmt.Errorf("starting %s: %w; build it with hack/cluster/build", d.name, err)
	}
	log, err := os.OpenFile(filepath.Join(s.logs, d.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("starting %s: %w", d.name, err)
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("starting %s: %w", d.name, err)
	}
	defer null.Close()

	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := syscall.ForkExec(path, append([]string{d.name}, d.args...), &syscall.ProcAttr{
		Env:   s.environment,
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		// A group of its own, as a daemon has anywhere else.
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return fmt.Errorf("starting %s: %w", d.name, err)
	}
	s.running[pid] = d
	s.hasChild.Signal()
	return nil
}

func (s *supervisor) reap() {
	for {
		s.mu.Lock()
		for len(s.running) == 0 {
			s.hasChild.Wait()
		}
		s.mu.Unlock()
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err != nil {
			continue // interrupted; a running daemon rules out "no child"
		}
		s.mu.Lock()
		d, ours := s.running[pid]
		delete(s.running, pid)
		s.mu.Unlock()
		if ours {
			fmt.Printf("%s %s exited (code %d, signal %d); starting it again\n",
				time.Now().Format(time.RFC3339), d.name, status.ExitStatus(), status.Signal())
			time.AfterFunc(restartDelay, func() {
				if err := s.run(d); err != nil {
					fmt.Println(err)
				}
			})
		}
	}
}
