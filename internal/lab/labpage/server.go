package labpage

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Server serves a page over HTTPS. It is a Runnable of a manager.
type Server struct {
	Page *Page
	// Address to listen on.
	Address string
	// Certificate that is served.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Caches that the page reads; they are filled before it is served.
	Caches cache.Cache
	Log    logr.Logger
}

// NeedLeaderElection is false: every replica serves the page, which reads only.
func (s *Server) NeedLeaderElection() bool { return false }

// Start serves until the context ends.
func (s *Server) Start(ctx context.Context) error {
	if err := Warm(ctx, s.Caches); err != nil {
		if ctx.Err() != nil {
			return nil // The operator ends before it served anything.
		}
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("serving the lab page: %w", err)
	}
	server := NewHTTPServer(s.Page, s.Log)
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: s.Certificate}
	ended := context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(ending) != nil {
			_ = server.Close()
		}
	})
	defer ended()
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the lab page: %w", err)
	}
	return nil
}

// NewHTTPServer bounds what a client may take.
func NewHTTPServer(h http.Handler, log logr.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 2 * patience,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: newErrorLog(log),
	}
}

// Warm fills the caches that a page reads.
func Warm(ctx context.Context, caches cache.Cache) error {
	for _, kind := range []client.Object{&v1alpha1.TestBed{}, &v1alpha1.Benchmark{}, &v1alpha1.Reservation{}, &v1alpha1.BenchmarkSchedule{}, &v1alpha1.LabPolicy{}} {
		if _, err := caches.GetInformer(ctx, kind); err != nil {
			return fmt.Errorf("reading %T for the lab page: %w", kind, err)
		}
	}
	return nil
}
