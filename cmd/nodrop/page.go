//go:build !standalone

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/lab/labpage"
	"nodrop.dev/nodrop/internal/reporting/report"
)

func newPageCommand() *cobra.Command {
	var namespaces []string
	var labNamespace, grafana string
	var port uint16
	cmd := &cobra.Command{
		Use:   "page",
		Short: "Show the lab page in a browser on this machine, with your own rights",
		Long: `Serve the lab page on this machine until Ctrl-C: beds, timeline, queue, reservations,
schedules and results. It is read with your own kubeconfig, and shows what you may list; the
operator need not serve the page. All namespaces are shown that you may list something in,
where you may list namespaces, and otherwise the one of the context and the ones of --namespaces.

The page listens on 127.0.0.1 only, and its address contains a secret: do not pass it on. Histories
need the archive, and are on the page of the operator only.`,
		Example: `  kubectl nodrop page
  kubectl nodrop page --namespaces team-routing,team-switching`,
		Args: cobra.NoArgs,
	}
	k := cluster.NewClient(cmd)
	cmd.Flags().StringSliceVar(&namespaces, "namespaces", nil, "further namespaces to show")
	cmd.Flags().StringVar(&labNamespace, "lab-namespace", "nodrop-lab", "namespace of the lab, whose reservations are maintenance windows")
	cmd.Flags().StringVar(&grafana, "grafana-results-url", "", "address of the dashboard of results in Grafana, to which the page and its reports link, such as https://grafana.example.com/d/nodrop-results-flux")
	cmd.Flags().Uint16Var(&port, "port", 0, "port to listen on; 0 is a free one")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := report.CheckLink("grafana-results-url", grafana); err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		log := logr.FromSlogHandler(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
		ctrl.SetLogger(log)
		klog.SetLogger(log)
		_, namespace, err := k.Connect()
		if err != nil {
			return err
		}
		rc, c, err := k.Reach()
		if err != nil {
			return err
		}
		kube, err := kubernetes.NewForConfig(rc)
		if err != nil {
			return cluster.Unreachable(err)
		}
		access, err := labpage.Own(ctx, kube)
		if err != nil {
			return cluster.Unreachable(err)
		}
		shown, err := labpage.Namespaces(ctx, kube, append(namespaces, namespace))
		if err != nil {
			return cluster.Unreachable(err)
		}
		caches, err := labpage.OwnCaches(ctx, rc, cache.Options{Scheme: c.Scheme()}, access, shown)
		if err != nil {
			return hint.With(err, "ask for the ClusterRole view (nodrop-view is part of it) in a namespace, or choose another with -n or --namespaces")
		}
		page := labpage.New(labpage.Options{
			Reader: caches, Results: c, Access: access, Base: labpage.NewSecretBase(), LabNamespace: labNamespace, GrafanaResults: grafana, Now: time.Now, Log: log,
			Waiting: allocation.WaitingFrom(c, allocation.LineupInput{}, time.Now),
		})
		return servePage(ctx, cmd, page, port)
	}
	return cmd
}

// servePage serves a page on this machine until the context ends.
func servePage(ctx context.Context, cmd *cobra.Command, page *labpage.Page, port uint16) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	if err != nil {
		return hint.With(fmt.Errorf("serving the page: %w", err), "leave --port out for a free port")
	}
	server := labpage.NewHTTPServer(labpage.Local(page, listener.Addr()), logr.Discard())
	ended := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer ended()
	fmt.Fprintf(cmd.OutOrStdout(), "http://%s%s\n", listener.Addr(), page.Base)
	fmt.Fprintln(cmd.ErrOrStderr(), "Open this address in a browser on this machine; who knows it sees what you see. Ctrl-C ends it.")
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the page: %w", err)
	}
	return nil
}
