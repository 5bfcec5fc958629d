package service

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Port is the TCP port of runners.
const Port = 7444

// The addresses of the server.
const (
	statePath = "/v1/state"
	rowsPath  = "/v1/rows"
	beginPath = "/v1/begin"
)

// maxPiece bounds the body of one request.
const maxPiece = 8 << 20

// beginning is the body of a request to begin.
type beginning struct {
	// Rows is the number of stored rows: the runner must have received as many.
	Rows int `json:"rows"`
}

// Server shows a board.
type Server struct {
	http *http.Server
}

// NewServer makes a server of a board.
func NewServer(b *Board) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+statePath, b.serveState)
	mux.HandleFunc("POST "+rowsPath, b.serveRows)
	mux.HandleFunc("POST "+beginPath, b.serveBegin)
	return &Server{http: &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}}
}

func (b *Board) serveState(w http.ResponseWriter, r *http.Request) {
	after := 0
	if text := r.URL.Query().Get("after"); text != "" {
		var err error
		if after, err = strconv.Atoi(text); err != nil || after < 0 {
			http.Error(w, fmt.Sprintf("after is %q: give how many rows of the log you have", text), http.StatusBadRequest)
			return
		}
	}
	body, err := json.Marshal(b.answer(after))
	if err != nil {
		http.Error(w, fmt.Sprintf("writing the state: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A reader that went away is no error of the run.
	_, _ = w.Write(body)
}

func (b *Board) serveRows(w http.ResponseWriter, r *http.Request) {
	var rows []v1alpha1.ResultRow
	if !decode(w, r, &rows) {
		return
	}
	b.accept(rows)
	w.WriteHeader(http.StatusNoContent)
}

func (b *Board) serveBegin(w http.ResponseWriter, r *http.Request) {
	var body beginning
	if !decode(w, r, &body) {
		return
	}
	if err := b.begin(body.Rows); err != nil {
		http.Error(w, err.Error(), http.StatusPreconditionFailed)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPiece)).Decode(into); err != nil {
		http.Error(w, fmt.Sprintf("reading the request: %v", err), http.StatusBadRequest)
		return false
	}
	return true
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
