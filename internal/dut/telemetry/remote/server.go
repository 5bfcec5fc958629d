package remote

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"nodrop.dev/nodrop/internal/dut/telemetry"
)

const (
	readingPath = "/v1/reading"
	factsPath   = "/v1/facts"
	powerPath   = "/v1/power"
	cyclePath   = "/v1/power-cycle"
)

// readWithin bounds one reading of the device.
const readWithin = 20 * time.Second

// maxOff bounds how long the power is off.
const maxOff = time.Hour

// Devices contains the device that a server reads, and the meter and the switch of its power. Each may be nil.
type Devices struct {
	Reader telemetry.Reader
	Meter  telemetry.Meter
	Switch telemetry.PowerSwitch
}

// Serve serves readings to the peer that the TLS configuration accepts, until the context ends. Requests that come at the
// same time are answered one after the other.
func Serve(ctx context.Context, l net.Listener, of Devices, peer *tls.Config) error {
	var mu sync.Mutex
	mux := http.NewServeMux()
	answer := func(read func(ctx context.Context) (any, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			within, cancel := context.WithTimeout(r.Context(), readWithin)
			defer cancel()
			found, err := read(within)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(found)
		}
	}
	if of.Reader != nil {
		mux.HandleFunc("GET "+readingPath, answer(func(ctx context.Context) (any, error) { return of.Reader.Read(ctx) }))
		mux.HandleFunc("GET "+factsPath, answer(func(ctx context.Context) (any, error) { return of.Reader.Facts(ctx) }))
	}
	if of.Meter != nil {
		mux.HandleFunc("GET "+powerPath, answer(func(ctx context.Context) (any, error) { return of.Meter.Power(ctx) }))
	}
	if of.Switch != nil {
		mux.HandleFunc("POST "+cyclePath, func(w http.ResponseWriter, r *http.Request) {
			answer(func(ctx context.Context) (any, error) {
				off, err := time.ParseDuration(r.URL.Query().Get("off"))
				if err != nil || off < 0 || off > maxOff {
					return nil, fmt.Errorf("off is %q: give 0s to %s", r.URL.Query().Get("off"), maxOff)
				}
				return true, of.Switch.Cycle(ctx, off)
			})(w, r)
		})
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 3 * readWithin, MaxHeaderBytes: 16 << 10, TLSConfig: peer}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving readings: %w", err)
	}
	return nil
}
