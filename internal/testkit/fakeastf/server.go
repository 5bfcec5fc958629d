package fakeastf

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
)

// Behavior contains the limits and faults of a fake and of the device that it models.
type Behavior struct {
	// DeviceConnections is the number of connections per second that the device passes; 0 for all. It drops what is above.
	DeviceConnections float64 `json:"deviceConnections,omitempty"`
	// OwnConnections is the number of connections per second that the server opens at most; 0 for all that are asked for.
	OwnConnections float64 `json:"ownConnections,omitempty"`
	// BitsPerSecond of data that the device passes; 0 means 100 Mbit/s.
	BitsPerSecond float64 `json:"bitsPerSecond,omitempty"`
	// CPU is the share of busy processors in percent.
	CPU float64 `json:"cpu,omitempty"`
	// Throttled is the number of connections that the server did not accept since it did not keep up.
	Throttled int `json:"throttled,omitempty"`
	// Broken loses the last part of data: the connection is dropped in between.
	Broken bool `json:"broken,omitempty"`
	// Missing are counters that the server does not have.
	Missing []string `json:"missing,omitempty"`
	// BuildError is the reason for which the server does not run a profile.
	BuildError string `json:"buildError,omitempty"`
	// Refused are methods that the server refuses, with the reason.
	Refused map[string]string `json:"refused,omitempty"`
	// Cores is the number of processors that send; 0 means 1.
	Cores int `json:"cores,omitempty"`
}

// Call is a request that the fake got.
type Call struct {
	Method string
	Params map[string]any
}

// Server is a fake server.
type Server struct {
	// Endpoint of its RPC.
	Endpoint string

	mu        sync.Mutex
	behavior  Behavior
	calls     []Call
	starts    int
	context   string
	ports     [2]string
	sync      string
	events    []any
	profiles  map[string]*profile
	questions [][]byte
	problems  []string
	socket    zmq4.Socket
	served    chan struct{}
}

// Serve starts a fake at an endpoint, such as tcp://127.0.0.1:0 for a free port.
func Serve(endpoint string, b Behavior) (*Server, error) {
	s := &Server{Endpoint: endpoint, behavior: b}
	return s, s.Up()
}

// Up starts the server without any state of an earlier start.
func (s *Server) Up() error {
	socket := zmq4.NewRep(context.Background())
	if err := socket.Listen(s.Endpoint); err != nil {
		return fmt.Errorf("listening at %s: %w", s.Endpoint, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Endpoint = "tcp://" + socket.Addr().String()
	s.starts++
	s.context, s.ports, s.sync, s.events, s.questions = "", [2]string{}, rand.Text()[:8], nil, nil
	s.profiles = map[string]*profile{"_": {}}
	s.socket, s.served = socket, make(chan struct{})
	go s.serve(socket, s.served)
	return nil
}

// Down ends the server, and every connection to it.
func (s *Server) Down() {
	s.mu.Lock()
	socket, served := s.socket, s.served
	s.mu.Unlock()
	_ = socket.Close()
	<-served
}

// Change changes what the fake does.
func (s *Server) Change(change func(*Behavior)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.behavior)
}

// Calls returns the requests since the last call, and what was wrong with them.
func (s *Server) Calls() (calls []Call, problems []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls, problems = s.calls, s.problems
	s.calls, s.problems = nil, nil
	return calls, problems
}

// Running reports whether a profile runs.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.states(), stateRun)
}

// Left describes what clients left behind; empty if it is nothing.
func (s *Server) Left() (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.context != "" {
		texts = append(texts, "the ports are taken")
	}
	for id, p := range s.profiles {
		if p.state != stateIdle || p.text != "" {
			texts = append(texts, fmt.Sprintf("profile %s is in state %d with %d bytes", id, p.state, len(p.text)))
		}
	}
	return texts
}

// Take takes the ports away from their owner.
func (s *Server) Take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own()
}

// own makes new proofs that a session has the ports.
func (s *Server) own() {
	s.context, s.ports = rand.Text()[:8], [2]string{rand.Text()[:8], rand.Text()[:8]}
}

func (s *Server) serve(socket zmq4.Socket, served chan struct{}) {
	defer close(served)
	for {
		message, err := socket.Recv()
		if err != nil {
			return
		}
		if err := socket.Send(zmq4.NewMsg(s.frame(message.Bytes()))); err != nil {
			return
		}
	}
}

const (
	magic     = 0xabe85cea
	headBytes = 8
	// longest is the largest request in bytes that the server reads.
	longest = 999_999
)

// frame answers a message in the framing that it came in.
func (s *Server) frame(wire []byte) []byte {
	if len(wire) < headBytes || binary.BigEndian.Uint32(wire) != magic {
		return s.Answer(wire)
	}
	r, err := zlib.NewReader(bytes.NewReader(wire[headBytes:]))
	var plain []byte
	if err == nil {
		plain, err = io.ReadAll(r)
	}
	if err != nil || len(plain) != int(binary.BigEndian.Uint32(wire[4:])) {
		s.mu.Lock()
		s.problems = append(s.problems, fmt.Sprintf("a compressed message of %d bytes: %v", len(plain), err))
		s.mu.Unlock()
	}
	answer := s.Answer(plain)
	var b bytes.Buffer
	b.Write(binary.BigEndian.AppendUint32(nil, magic))
	b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(answer))))
	w := zlib.NewWriter(&b)
	_, _ = w.Write(answer) // into memory
	_ = w.Close()
	return b.Bytes()
}

// Answer answers a request, or a list of several.
func (s *Server) Answer(plain []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []json.RawMessage
	if len(plain) > longest || json.Unmarshal(plain, &list) != nil {
		return text(s.one(plain))
	}
	var out []any
	for _, r := range list {
		out = append(out, s.one(r))
	}
	if len(out) == 1 { // as the server does
		return text(out[0])
	}
	return text(out)
}

func text(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// rpcError is an error as the server returns it.
type rpcError struct {
	Code     int    `json:"code"`
	Message  string `json:"message"`
	Specific string `json:"specific_err,omitempty"`
}

func refused(format string, args ...any) *rpcError {
	return &rpcError{-32000, "Failed To Execute Method", fmt.Sprintf(format, args...)}
}

func (s *Server) one(plain []byte) any {
	var r struct {
		ID     any            `json:"id"`
		Method string         `json:"method"`
		Params map[string]any `json:"params"`
	}
	answer := map[string]any{"jsonrpc": "2.0"}
	if err := json.Unmarshal(plain, &r); err != nil || len(plain) > longest {
		s.problems = append(s.problems, fmt.Sprintf("a request of %d bytes: %v", len(plain), err))
		answer["error"] = rpcError{Code: -32700, Message: "Bad JSON encoding"}
		return answer
	}
	answer["id"] = r.ID
	s.calls = append(s.calls, Call{r.Method, r.Params})
	s.advance(time.Now())
	result, failed := s.method(r.Method, r.Params)
	if reason, broken := s.behavior.Refused[r.Method]; broken {
		failed = refused("%s", reason)
	}
	if failed != nil {
		answer["error"] = failed
	} else {
		answer["result"] = result
	}
	return answer
}
