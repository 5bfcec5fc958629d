package service

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"nodrop.dev/nodrop/internal/runner"
)

// Port is where runners listen.
const Port = 7444

// statePath is the one address of the server.
const statePath = "/v1/state"

// Server shows the state of a run.
type Server struct {
	http *http.Server
}

// State holds the newest state of a run for readers of any goroutine.
type State struct {
	mu    sync.RWMutex
	state runner.State
}

// Set replaces the state; it is what runner.WithObserver wants.
func (s *State) Set(state runner.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// Get returns the newest state.
func (s *State) Get() runner.State {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state
}

// NewServer makes a server that answers with what state returns.
func NewServer(state func() runner.State) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+statePath, func(w http.ResponseWriter, r *http.Request) {
		body, err := json.Marshal(state())
		if err != nil {
			http.Error(w, fmt.Sprintf("writing the state: %v", err), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		// A reader that went away is no error of the run.
		_, _ = w.Write(body)
	})
	return &Server{http: &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}}
}

// Serve answers on a listener until Close; t decides who may ask.
func (s *Server) Serve(l net.Listener, t *tls.Config) error {
	s.http.TLSConfig = t
	if err := s.http.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving %s: %w", l.Addr(), err)
	}
	return nil
}

// Close ends Serve and all connections.
func (s *Server) Close() { s.http.Close() }
