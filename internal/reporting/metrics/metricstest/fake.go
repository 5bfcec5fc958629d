package metricstest

import (
	"compress/gzip"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/influxdata/line-protocol/v2/lineprotocol"
)

// Fake takes the requests of all three write APIs, and stores points by their identity.
type Fake struct {
	// URL of the server.
	URL string

	server *httptest.Server

	mu sync.Mutex
	// answer is asked first with each request and its lines; see Answer.
	answer   Answer
	requests []Request
	points   map[string]string
}

// Request is a request that the fake received.
type Request struct {
	// Path with the parameters.
	Path string
	// Authorization is the header of this name.
	Authorization string
	// Lines as they came.
	Lines []string
}

// Answer decides what the fake answers to a request: with status 0 it stores all lines and
// answers 204. Otherwise it stores those at the indexes in store, and answers status with
// body.
type Answer func(r Request) (status int, header map[string]string, body string, store []int)

// NewFake is a server that takes everything.
func NewFake(t testing.TB) *Fake {
	f := &Fake{points: map[string]string{}}
	f.server = httptest.NewServer(http.HandlerFunc(f.serve))
	f.URL = f.server.URL
	t.Cleanup(f.server.Close)
	return f
}

// NewTLSFake is the same with TLS. Its certificate is in the file.
func NewTLSFake(t testing.TB) (f *Fake, caFile string) {
	f = &Fake{points: map[string]string{}}
	f.server = httptest.NewTLSServer(http.HandlerFunc(f.serve))
	f.URL = f.server.URL
	t.Cleanup(f.server.Close)
	caFile = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(caFile, CertificatePEM(f.server.Certificate()), 0o600); err != nil {
		t.Fatal(err)
	}
	return f, caFile
}

// CertificatePEM is a certificate in PEM.
func CertificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// Set changes what the fake answers; nil makes it take everything.
func (f *Fake) Set(answer Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// Requests are all that came.
func (f *Fake) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Request(nil), f.requests...)
}

// Points are the stored points: fields by measurement, tags and time.
func (f *Fake) Points() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make(map[string]string, len(f.points))
	for k, v := range f.points {
		all[k] = v
	}
	return all
}

func (f *Fake) serve(w http.ResponseWriter, r *http.Request) {
	zipped, err := gzip.NewReader(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnsupportedMediaType)
		return
	}
	content, err := io.ReadAll(zipped)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := Request{Path: r.URL.String(), Authorization: r.Header.Get("Authorization")}
	request.Lines = strings.SplitAfter(string(content), "\n")
	request.Lines = request.Lines[:len(request.Lines)-1]
	f.mu.Lock()
	answer := f.answer
	f.requests = append(f.requests, request)
	f.mu.Unlock()
	status, store := http.StatusNoContent, []int(nil)
	var header map[string]string
	var body string
	if answer != nil {
		status, header, body, store = answer(request)
	}
	if answer == nil || status == 0 {
		status = http.StatusNoContent
		for i := range request.Lines {
			store = append(store, i)
		}
	}
	for _, i := range store {
		if err := f.store(request.Lines[i]); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	for name, value := range header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// store keeps a point under its identity. A point that comes again with other fields is
// an error: points are immutable.
func (f *Fake) store(line string) error {
	key, fields, err := Identity(line)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if before, there := f.points[key]; there && before != fields {
		return fmt.Errorf("point %s changed from %s to %s", key, before, fields)
	}
	f.points[key] = fields
	return nil
}

// Identity splits a line into what identifies the point, and its fields.
func Identity(line string) (key, fields string, err error) {
	d := lineprotocol.NewDecoderWithBytes([]byte(line))
	if !d.Next() {
		return "", "", fmt.Errorf("no point in %q", line)
	}
	name, err := d.Measurement()
	if err != nil {
		return "", "", err
	}
	key = string(name)
	for {
		k, v, err := d.NextTag()
		if err != nil {
			return "", "", err
		}
		if k == nil {
			break
		}
		key += fmt.Sprintf(",%s=%s", k, v)
	}
	for {
		k, v, err := d.NextField()
		if err != nil {
			return "", "", err
		}
		if k == nil {
			break
		}
		fields += fmt.Sprintf("%s=%v ", k, v)
	}
	at, err := d.Time(lineprotocol.Nanosecond, time.Time{})
	return fmt.Sprintf("%s %d", key, at.UnixNano()), fields, err
}
