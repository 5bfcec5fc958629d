//go:build !standalone

package inpod

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/base/version"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/reporting/apart"
	"nodrop.dev/nodrop/internal/reporting/report"
)

const (
	// keepForever is the value of --ttl-seconds-after-finished that deletes nothing.
	keepForever = -1
	// maxTimeToLive is ten years in seconds, as in a Benchmark.
	maxTimeToLive = 315_360_000
)

// NewOperatorCommand returns the command of the operator.
func NewOperatorCommand() *cobra.Command {
	f := &operatorFlags{config: operator.Config{Deadlines: kit.DefaultDeadlines(), ProbeInterval: operator.DefaultProbeInterval}}
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run the operator (in a cluster; the chart starts it)",
		Long: `Run the operator: give test beds to benchmarks, start device, traffic pods and
runner in the lab's namespace, follow the measurement, and remove everything again.

The cluster is the one that it runs in, or that KUBECONFIG names.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(); err != nil {
				return err
			}
			return f.run(cmd.ErrOrStderr())
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// operatorFlags are the flags of the operator.
type operatorFlags struct {
	config operator.Config
	// pullPolicy, policyFile, kueueRequired and timeToLive complete the config.
	pullPolicy, policyFile, kueueRequired string
	timeToLive                            int64
	verbose                               bool
}

// add adds the flags to a command.
func (f *operatorFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.config.Namespace, "namespace", operator.DefaultNamespace, "namespace that the operator runs in: leader election, webhook certificate")
	flags.StringVar(&f.config.Lab.Namespace, "lab-namespace", operator.DefaultLabNamespace, "namespace of the lab: traffic pods, runners, devices, ConfigMaps of beds")
	flags.StringVar(&f.config.Lab.Image, "image", "", "image of agents and runners (required)")
	flags.StringVar(&f.config.Lab.DeviceImage, "device-image", "", "image that starts virtual devices (required)")
	flags.StringVar(&f.config.Lab.TRexImage, "trex-image", "", "image of the TRex server, for beds with the engine trex that name none; empty: each of them has to")
	flags.StringVar(&f.pullPolicy, "image-pull-policy", string(corev1.PullIfNotPresent), "when nodes pull these images: Always, IfNotPresent, Never")
	flags.StringVar(&f.policyFile, "default-policy-file", "", "file with the default policy of the lab (what a TestBed gives as spec.policy): which frames may be sent on beds that do not say it themselves")
	flags.IntVar(&f.config.WebhookPort, "webhook-port", 9443, "port of the admission webhooks; 0 serves none")
	flags.StringVar(&f.config.WebhookCertDir, "webhook-cert-dir", "", "directory with tls.crt and tls.key of the webhooks, such as a Secret of cert-manager; empty: the operator makes and renews the certificate")
	flags.StringVar(&f.config.MetricsAddress, "metrics-bind-address", "0", "address to serve metrics on over HTTPS, such as :8443, to users with the right to get /metrics; 0 serves none")
	flags.StringVar(&f.config.PageAddress, "page-bind-address", "0", "address to serve the lab page on over HTTPS, such as :8444, to users whose token the API server knows; 0 serves none")
	flags.StringVar(&f.config.PageCertDir, "page-cert-dir", "", "directory with tls.crt and tls.key of the lab page; empty: it has the certificate of the webhooks")
	flags.StringVar(&f.config.GrafanaResults, "grafana-results-url", "", "address of the dashboard of results in Grafana, such as https://grafana.example.com/d/nodrop-results-flux, to which the lab page and its reports link; empty: no links")
	flags.StringVar(&f.config.HealthAddress, "health-probe-bind-address", ":8081", "address to serve /healthz and /readyz on; 0 serves none")
	flags.StringVar(&f.config.ArchiveURL, "archive-url", "", "where results of finished benchmarks are kept: file:///DIRECTORY or s3://BUCKET/PREFIX, with credentials of S3 from the environment; empty: only in the API")
	flags.BoolVar(&f.config.Recorder, "recorder", false, "the lab has a recorder of metrics (Service "+operator.RecorderService+"): runners hand their points to it")
	flags.DurationVar(&f.config.RecorderInterval, "recorder-interval", time.Second, "how often runners sample ports for the recorder, 100ms to 10s")
	flags.BoolVar(&f.config.Kueue, "kueue", false, "benchmarks with the label "+v1alpha1.LabelQueueName+" are admitted by Kueue, which must be installed")
	flags.StringVar(&f.kueueRequired, "kueue-required-in", "", "label selector of namespaces in which every benchmark needs that label; empty: in none")
	flags.BoolVar(&f.config.Connections, "hand-out-connections", false, "hand connection data of beds out to those who have reserved them, as Secret "+v1alpha1.ConnectionSecretName+" of their namespace; needs create, patch and delete of Secrets of that name in all namespaces")
	flags.StringSliceVar(&f.config.NotificationHosts, "notification-hosts", nil, "hosts that teams may have notifications sent to: names, or NAME:PORT; *.example.com is every name below; none without it")
	flags.StringSliceVar(&f.config.NotificationNetworks, "notification-networks", nil, "networks that receivers of notifications may be in although they are refused otherwise, such as 127.0.0.0/8")
	flags.StringVar(&f.config.NotificationCAFile, "notification-ca-file", "", "file with certificate authorities for the certificates of receivers, in addition to the authorities of the system")
	flags.DurationVar(&f.config.Deadlines.Device, "device-deadline", f.config.Deadlines.Device, "how long a virtual device may take to come up, 10s to 2h; images of whole machines need more than containers")
	flags.DurationVar(&f.config.Deadlines.Traffic, "traffic-deadline", f.config.Deadlines.Traffic, "how long the traffic pods and the runner may take to become ready, 10s to 2h")
	flags.DurationVar(&f.config.Deadlines.Runner, "runner-deadline", f.config.Deadlines.Runner, "how long a runner may not answer before its pod is replaced, 10s to 2h")
	flags.DurationVar(&f.config.Deadlines.CleanUp, "clean-up-deadline", f.config.Deadlines.CleanUp, "how long the clean-up after a benchmark may take before the bed is quarantined, 10s to 2h")
	flags.DurationVar(&f.config.ProbeInterval, "bed-probe-interval", f.config.ProbeInterval, "how often the interfaces of beds with a physical device are read on their nodes while no benchmark has them, 1m to 24h; 0 reads none")
	flags.Int64Var(&f.timeToLive, "ttl-seconds-after-finished", keepForever, "delete benchmarks this many seconds after their end that do not say so themselves; -1 keeps them for ever")
	flags.BoolVar(&f.config.LeaderElect, "leader-elect", false, "let only one of several operators act")
	flags.StringVar(&f.config.Identity, "leader-identity", "", "name of this operator among several, such as that of its pod; one that was killed goes on at once under the same name; empty: a new name at each start, which waits until the lease of the last one has ended")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "log more")
}

// complete checks the flags, and fills the configuration with those that have another form there.
func (f *operatorFlags) complete() error {
	f.config.Lab.PullPolicy = corev1.PullPolicy(f.pullPolicy)
	if err := report.CheckLink("grafana-results-url", f.config.GrafanaResults); err != nil {
		return err
	}
	switch {
	case f.timeToLive >= 0 && f.timeToLive <= maxTimeToLive:
		ttl := time.Duration(f.timeToLive) * time.Second
		f.config.TimeToLive = &ttl
	case f.timeToLive != keepForever:
		return fmt.Errorf("--ttl-seconds-after-finished is %d: use 0 to %d, or -1 to keep benchmarks for ever", f.timeToLive, maxTimeToLive)
	}
	if f.kueueRequired != "" {
		var err error
		if f.config.KueueRequired, err = labels.Parse(f.kueueRequired); err != nil {
			return fmt.Errorf("--kueue-required-in is %q: give a label selector, such as kueue-managed=true: %w", f.kueueRequired, err)
		}
	}
	if err := f.config.Validate(); err != nil {
		return err
	}
	if f.policyFile != "" {
		var err error
		if f.config.DefaultPolicy, err = manifest.ReadPolicy(f.policyFile); err != nil {
			return fmt.Errorf("--default-policy-file: %w", err)
		}
	}
	return nil
}

// run starts the operator, and returns when it was stopped. It logs to a writer.
func (f *operatorFlags) run(to io.Writer) error {
	level := slog.LevelInfo
	if f.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level}))
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	klog.SetLogger(logr.FromSlogHandler(log.Handler()))
	rc, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w: run it in a pod, or set KUBECONFIG", err)
	}
	if f.config.LargeResults, err = apart.Program(); err != nil {
		return err
	}
	mgr, err := operator.New(rc, f.config)
	if err != nil {
		return err
	}
	log.Info("The operator starts", "version", version.String(), "lab", f.config.Lab.Namespace)
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		return fmt.Errorf("running the operator: %w", err)
	}
	return nil
}
