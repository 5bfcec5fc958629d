package remote

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/scale"
	"nodrop.dev/nodrop/internal/dut/telemetry"
)

const (
	readingPath = "/v1/reading"
	factsPath   = "/v1/facts"
	powerPath   = "/v1/power"
	cyclePath   = "/v1/power-cycle"
	resetPath   = "/v1/reset"
	restorePath = "/v1/restore"
	scalePath   = "/v1/scale"
)

// readWithin bounds one reading of the device.
const readWithin = 20 * time.Second

// maxOff bounds how long the power is off.
const maxOff = time.Hour

// Resetter resets a device, and configures it again.
type Resetter interface {
	// Reset performs a reset by its name, and returns when the device has begun it.
	Reset(ctx context.Context, name string) error
	// Restore gives the device its configuration again, and reports whether it had another one.
	Restore(ctx context.Context) (bool, error)
}

// Scaler gives a device lists of a chosen number of entries.
type Scaler interface {
	// Scale gives the device a list of the bed, by its name, with n entries; 0 for no list. Rejected is the reason why the device did
	// not take it; empty if it did.
	Scale(ctx context.Context, name string, n int64) (rejected string, err error)
}

// Devices contains the device that a server reads, resets and gives lists, and the meter and the switch of its power. Each may be nil.
type Devices struct {
	Reader   telemetry.Reader
	Meter    telemetry.Meter
	Switch   telemetry.PowerSwitch
	Resetter Resetter
	Scaler   Scaler
}

// queue answers requests one after the other.
type queue struct {
	mu sync.Mutex
	// within bounds each.
	within time.Duration
}

// answer returns a handler that writes what ask returns.
func (q *queue) answer(ask func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q.mu.Lock()
		defer q.mu.Unlock()
		within, cancel := context.WithTimeout(r.Context(), q.within)
		defer cancel()
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(q.within + readWithin))
		found, err := ask(r.WithContext(within))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(found)
	}
}

// Serve serves readings to the peer that the TLS configuration accepts, until the context ends. Readings that are asked for at the
// same time are answered one after the other, and so are resets.
func Serve(ctx context.Context, l net.Listener, of Devices, peer *tls.Config) error {
	// A reset takes its time, in which the device is read.
	readings, resets := &queue{within: readWithin}, &queue{within: max(configure.ResetWithin, configure.RestoreWithin, scale.Within)}
	mux := http.NewServeMux()
	if of.Reader != nil {
		mux.HandleFunc("GET "+readingPath, readings.answer(func(r *http.Request) (any, error) { return of.Reader.Read(r.Context()) }))
		mux.HandleFunc("GET "+factsPath, readings.answer(func(r *http.Request) (any, error) { return of.Reader.Facts(r.Context()) }))
	}
	if of.Meter != nil {
		mux.HandleFunc("GET "+powerPath, readings.answer(func(r *http.Request) (any, error) { return of.Meter.Power(r.Context()) }))
	}
	if of.Switch != nil {
		mux.HandleFunc("POST "+cyclePath, readings.answer(func(r *http.Request) (any, error) {
			off, err := time.ParseDuration(r.URL.Query().Get("off"))
			if err != nil || off < 0 || off > maxOff {
				return nil, fmt.Errorf("off is %q: give 0s to %s", r.URL.Query().Get("off"), maxOff)
			}
			return true, of.Switch.Cycle(r.Context(), off)
		}))
	}
	if of.Resetter != nil {
		mux.HandleFunc("POST "+resetPath, resets.answer(func(r *http.Request) (any, error) {
			return true, of.Resetter.Reset(r.Context(), r.URL.Query().Get("name"))
		}))
		mux.HandleFunc("POST "+restorePath, resets.answer(func(r *http.Request) (any, error) { return of.Resetter.Restore(r.Context()) }))
	}
	if of.Scaler != nil {
		mux.HandleFunc("POST "+scalePath, resets.answer(func(r *http.Request) (any, error) {
			n, err := strconv.ParseInt(r.URL.Query().Get("entries"), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("entries is %q: give a whole number", r.URL.Query().Get("entries"))
			}
			return of.Scaler.Scale(r.Context(), r.URL.Query().Get("name"), n)
		}))
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 3 * readWithin, MaxHeaderBytes: 16 << 10, TLSConfig: peer}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving readings: %w", err)
	}
	return nil
}
