//go:build !standalone

package inpod

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/reporting/metrics/delivery"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
	"nodrop.dev/nodrop/internal/reporting/metrics/sink"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

// recorderOptions are the flags of nodrop recorder.
type recorderOptions struct {
	sink             sink.Config
	tls, listen, dir string
	spoolSize        string
	// metrics is the address of /metrics; "0" serves none.
	metrics string
	// ready gets the address once the recorder listens.
	ready func(net.Addr)
}

// NewRecorderCommand returns the command that writes the metrics of all runs to a database.
func NewRecorderCommand() *cobra.Command {
	o := recorderOptions{sink: sink.Config{API: sink.V2}}
	cmd := &cobra.Command{
		Use:   "recorder",
		Short: "Keep the points of all runs, and write them to InfluxDB",
		Long: `Keep the points that runners hand over, with mutual TLS, in a spool on a volume,
and write them to InfluxDB. What the database does not take waits there; beyond the
size of the spool the oldest samples and trials are dropped, rows never.

Exit codes: 0 when stopped by a signal, 1 otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return runRecorder(ctx, o, podLog(cmd.ErrOrStderr()))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.sink.URL, "url", "", "URL of the database (required)")
	o.sink.AddFlags(flags, "")
	flags.StringVar(&o.tls, "tls", pki.DirDefault, "directory with ca.crt, tls.crt and tls.key; it is read again for each connection")
	flags.StringVar(&o.listen, "listen", ":"+strconv.Itoa(recorder.Port), "address to listen at")
	flags.StringVar(&o.dir, "spool-dir", "/var/lib/nodrop", "directory of the spool")
	flags.StringVar(&o.spoolSize, "spool-size", "1Gi", "how much is kept; the file may be twice as large")
	flags.StringVar(&o.metrics, "metrics-bind-address", "0", "address to serve the recorder's own metrics on over HTTPS, such as :8443; 0 serves none")
	_ = cmd.MarkFlagRequired("url")
	return cmd
}

func runRecorder(ctx context.Context, o recorderOptions, log *slog.Logger) (err error) {
	size, err := resource.ParseQuantity(o.spoolSize)
	if err != nil || size.Value() < 1<<20 {
		return fmt.Errorf("--spool-size is %q: a quantity of 1Mi and more is allowed", o.spoolSize)
	}
	to, err := sink.NewHTTP(o.sink, nil)
	if err != nil {
		return err
	}
	load := func() (pki.Bundle, error) { return pki.LoadDir(o.tls) }
	config, err := pki.RecorderConfig(load)
	if err != nil {
		return err
	}
	kept, err := spool.Open(filepath.Join(o.dir, "metrics.db"), size.Value())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	if o.ready != nil {
		o.ready(listener.Addr())
	}
	log.Info("the recorder takes points", "sink", to.String(), "waiting", kept.Stats().Points())
	server := recorder.NewServer(kept, config)
	var ended sync.WaitGroup
	defer ended.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	writing := delivery.New(kept, to, log)
	if err := serveOwnMetrics(ctx, &ended, o, load, opmetrics.NewRecorder(writing.Stats, size.Value()), log); err != nil {
		return err
	}
	ended.Go(func() { writing.Run(ctx) })
	ended.Go(func() { logState(ctx, kept, writing, size.Value(), log) })
	defer context.AfterFunc(ctx, server.Stop)()
	return server.Serve(listener)
}

// stateEvery is the interval at which the recorder logs the state of its spool, if it changed.
const stateEvery = 30 * time.Second

// logState logs the state until ctx ends. kubectl nodrop doctor reads it from the log.
func logState(ctx context.Context, kept *spool.Spool, writing *delivery.Delivery, limit int64, log *slog.Logger) {
	ticker := time.NewTicker(stateEvery)
	defer ticker.Stop()
	for said := (recorder.State{}); ; {
		oldest, err := kept.Oldest()
		if err != nil {
			log.Error("the oldest point is not known", "error", err.Error())
		}
		if now := recorder.StateOf(writing.Stats(), oldest, limit); now != said {
			now.Log(log)
			said = now
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// serveOwnMetrics serves what the recorder tells Prometheus about itself. Points are taken
// also when that fails later.
func serveOwnMetrics(ctx context.Context, ended *sync.WaitGroup, o recorderOptions, load func() (pki.Bundle, error), own prometheus.Collector, log *slog.Logger) error {
	if o.metrics == "0" {
		return nil
	}
	l, err := net.Listen("tcp", o.metrics)
	if err != nil {
		return fmt.Errorf("--metrics-bind-address: %w", err)
	}
	ended.Go(func() {
		if err := opmetrics.Serve(ctx, l, pki.ServerOnlyConfig(load), own); err != nil {
			log.Error("the recorder's own metrics are not served any more", "error", err.Error())
		}
	})
	return nil
}
