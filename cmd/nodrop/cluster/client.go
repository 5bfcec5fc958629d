//go:build !standalone

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/hint"
)

// Client connects a command to the cluster, with the flags and files that kubectl uses, so that
// the plugin asks the same server as kubectl does.
type Client struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides *clientcmd.ConfigOverrides
}

// NewClient returns a client that a command configures by its flags.
func NewClient(cmd *cobra.Command) *Client {
	k := &Client{rules: clientcmd.NewDefaultClientConfigLoadingRules(), overrides: &clientcmd.ConfigOverrides{}}
	flags := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	flags.StringVar(&k.rules.ExplicitPath, "kubeconfig", "", "path to the kubeconfig file")
	clientcmd.BindOverrideFlags(k.overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
	terminal.MarkConnection(flags)
	cmd.Flags().AddFlagSet(flags)
	return k
}

const kubeconfigAdvice = "set KUBECONFIG or give --kubeconfig, as for kubectl"

// Connect returns a client, and the namespace to look in. It does not ask the
// server anything yet.
func (k *Client) Connect() (client.WithWatch, string, error) {
	namespace, _, err := k.loader().Namespace()
	if err != nil {
		return nil, "", hint.With(fmt.Errorf("reading the kubeconfig: %w", err), kubeconfigAdvice)
	}
	_, c, err := k.Reach()
	return c, namespace, err
}

// Reach returns how to connect, and a client that does.
func (k *Client) Reach() (*rest.Config, client.WithWatch, error) {
	config, err := k.loader().ClientConfig()
	if err != nil {
		return nil, nil, hint.With(fmt.Errorf("reading the kubeconfig: %w", err), kubeconfigAdvice)
	}
	config.WarningHandler = rest.NewWarningWriter(os.Stderr, rest.WarningWriterOptions{Deduplicate: true})
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return nil, nil, fmt.Errorf("registering the API: %w", err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, Unreachable(err)
	}
	return config, c, nil
}

func (k *Client) loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(k.rules, k.overrides)
}

// Unreachable adds a hint to an error of the API server.
func Unreachable(err error) error {
	switch {
	case meta.IsNoMatchError(err):
		return hint.With(errors.New("this cluster does not know NoDrop's resources"), "install the chart, or choose another cluster with --context")
	case apierrors.IsUnauthorized(err):
		return hint.With(fmt.Errorf("the cluster does not accept these credentials: %w", err), "log in again, or choose another user with --user")
	case apierrors.IsForbidden(err):
		return hint.With(err, "ask for the ClusterRole view (nodrop-view is part of it) in this namespace, or choose another with -n")
	}
	return hint.With(fmt.Errorf("asking the cluster: %w", err), "see whether kubectl get benchmarks works with the same kubeconfig and context")
}

// temporary reports whether the same question may be answered later.
func temporary(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return !meta.IsNoMatchError(err) && !errors.Is(err, errDeleted)
	}
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

const archivedAdvice = "kubectl nodrop report URL prints an archived result, also of a benchmark that was deleted"

// benchmarkNotFound names the benchmarks that there are.
func benchmarkNotFound(ctx context.Context, c client.Client, key client.ObjectKey) error {
	err := fmt.Errorf("no Benchmark %q in namespace %q", key.Name, key.Namespace)
	var there v1alpha1.BenchmarkList
	if listing := c.List(ctx, &there, client.InNamespace(key.Namespace)); listing != nil || len(there.Items) == 0 {
		return hint.With(err, "kubectl get benchmarks -A lists all benchmarks; choose the namespace with -n; "+archivedAdvice)
	}
	var names []string
	for i := range there.Items {
		names = append(names, there.Items[i].Name)
	}
	return hint.With(err, "there are "+strings.Join(names, ", ")+"; choose another namespace with -n; "+archivedAdvice)
}

// ProfileOf reads the traffic profile of a benchmark, nil when it is gone or
// may not be read: a result is worth showing without it.
func ProfileOf(ctx context.Context, c client.Client, benchmark *v1alpha1.Benchmark) *v1alpha1.TrafficProfile {
	var profile v1alpha1.TrafficProfile
	key := client.ObjectKey{Namespace: benchmark.Namespace, Name: benchmark.Spec.TrafficProfileName}
	if err := c.Get(ctx, key, &profile); err != nil {
		return nil
	}
	return &profile
}

// GetBenchmark reads a benchmark. Its errors name the remedy.
func GetBenchmark(ctx context.Context, c client.Client, key client.ObjectKey) (*v1alpha1.Benchmark, error) {
	var benchmark v1alpha1.Benchmark
	err := c.Get(ctx, key, &benchmark)
	switch {
	case apierrors.IsNotFound(err):
		return nil, benchmarkNotFound(ctx, c, key)
	case err != nil:
		return nil, Unreachable(err)
	}
	return &benchmark, nil
}

// HasNamespace reports whether the namespace was given on the command line.
func (k *Client) HasNamespace() bool { return k.overrides.Context.Namespace != "" }
