package server

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/go-zeromq/zmq4"
	"sigs.k8s.io/yaml"
)

// What a fake server does, and the environment variable that selects it.
const (
	fakeVariable = "NODROP_TEST_FAKE"

	fakeDies     = "dies at start"
	fakeSilent   = "never answers"
	fakeAnswers  = "answers, and ends on SIGINT"
	fakeStubborn = "answers, and does not end on SIGINT"
)

// TestMain is the fake server when this binary runs under the name of the real one,
// and a process that starts a fake server when a variable says so.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == Binary:
		os.Exit(fakeServer())
	case os.Getenv(parentVariable) != "":
		os.Exit(parent())
	}
	os.Exit(m.Run())
}

// fakeServer behaves as a server at the edges of its life: it is fake, and sends
// nothing.
func fakeServer() int {
	mode := os.Getenv(fakeVariable)
	fmt.Println("Starting  TRex fake please wait  ...")
	if mode == fakeDies {
		fmt.Print("\nERROR in configuration file")
		return 7
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	crash := make(chan os.Signal, 1)
	signal.Notify(crash, syscall.SIGUSR1)
	if mode != fakeSilent {
		go fakeRPC()
	}
	for {
		select {
		case <-crash:
			fmt.Fprintln(os.Stderr, "fake core hangs")
			return 134
		case <-interrupted:
			if mode != fakeStubborn {
				return 0
			}
		}
	}
}

// fakeRPC answers every request with a version.
func fakeRPC() {
	var files []file
	text, err := os.ReadFile(os.Args[2]) // after --cfg
	if err == nil {
		err = yaml.Unmarshal(text, &files)
	}
	socket := zmq4.NewRep(context.Background())
	if err == nil {
		err = socket.Listen(fmt.Sprintf("tcp://127.0.0.1:%d", files[0].RPCPort))
	}
	for err == nil {
		var message zmq4.Msg
		if message, err = socket.Recv(); err != nil {
			break
		}
		var request struct {
			ID int `json:"id"`
		}
		if err = json.Unmarshal(message.Bytes(), &request); err != nil {
			break
		}
		err = socket.Send(zmq4.NewMsgString(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"version":"fake","mode":"STL"}}`, request.ID)))
	}
	fmt.Fprintln(os.Stderr, "fake RPC:", err)
	os.Exit(1)
}

// fakeDir is a directory that holds the fake under the name of the real server.
func fakeDir(t *testing.T, mode string) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, Binary)); err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeVariable, mode)
	return dir
}
