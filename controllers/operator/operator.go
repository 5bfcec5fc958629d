package operator

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers"
	"nodrop.dev/nodrop/controllers/benchmarks"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/quotas"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/lab/recordercert"
	"nodrop.dev/nodrop/internal/lab/webhookcert"
	"nodrop.dev/nodrop/internal/manifests/admission"
	"nodrop.dev/nodrop/internal/reporting/apart"
	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

// Config is the configuration of the operator.
type Config struct {
	// Namespace that the operator runs in: its leader election lease is there.
	Namespace string
	// Lab is the lab's namespace and the images of its pods.
	Lab labobjects.Settings
	// DefaultPolicy is the traffic policy of beds that have none; nil is the built-in policy.
	DefaultPolicy *v1alpha1.TrafficPolicy
	// WebhookPort is the port of the webhooks; 0 serves none.
	WebhookPort int
	// WebhookCertDir has the serving certificate of the webhooks as tls.crt and tls.key.
	// When it is empty, the operator makes and renews the certificate itself.
	WebhookCertDir string
	// WebhookCertInterval is the interval at which the operator checks whether its certificate
	// must be renewed; 0 is a minute.
	WebhookCertInterval time.Duration
	// Now is the clock that decides it; nil is the real one.
	Now func() time.Time
	// WebhookHost is the address to listen on; empty means all.
	WebhookHost string
	// Counts are exported with the metrics; nil exports none.
	Counts *opmetrics.Operator
	// MetricsAddress serves metrics over HTTPS, with the certificate of the webhooks, to
	// users with the right to get /metrics; "0" does not.
	MetricsAddress string
	// PageAddress serves the lab page over HTTPS, to users whose token the API server knows;
	// "0" and empty do not.
	PageAddress string
	// GrafanaResults is the address of the dashboard of results in Grafana, to which the lab page links;
	// empty without one.
	GrafanaResults string
	// PageCertDir has the certificate of the lab page as tls.crt and tls.key. When it is
	// empty, the page has that of the webhooks.
	PageCertDir string
	// HealthAddress serves /healthz and /readyz; "0" does not.
	HealthAddress string
	// LeaderElect lets only one of several operators act.
	LeaderElect bool
	// Identity is the name of this operator among several, which no other one has at the
	// same time, such as the name of its pod. An operator that was killed goes on at once
	// under the same name. Empty is a new name at each start, which waits until the lease
	// of the last one has ended, up to 15 s.
	Identity string
	// RenewDeadline is the time for which the operator that acts tries to renew its lease before it ends; zero is 10 s.
	// A lease lasts half as long again.
	RenewDeadline time.Duration
	// ArchiveURL is the location of the archive for finished results; empty keeps them in the
	// API only.
	ArchiveURL string
	// LargeResults is the program, with its first arguments, that reads and writes large results in
	// processes of their own: one for the lab page, and one for all else. Empty does so in this one.
	LargeResults []string
	// Recorder reports whether the lab has a recorder of metrics, which the chart installs, and
	// RecorderInterval how often runners sample ports for it.
	Recorder         bool
	RecorderInterval time.Duration
	// Kueue reports whether benchmarks with the name of a queue are admitted by Kueue, and
	// KueueRequired selects the namespaces whose benchmarks need such a name; nil is none.
	Kueue         bool
	KueueRequired labels.Selector
	// Connections reports whether connection data of beds are handed out to those who have reserved
	// them.
	Connections bool
	// NotificationHosts are the receivers that teams may have events sent to: names, or names
	// with a port; *.example.com is every name below. Empty allows none.
	NotificationHosts []string
	// NotificationNetworks are networks that receivers may be in although they are refused
	// otherwise: loopback, link-local, and the address of the API server.
	NotificationNetworks []string
	// NotificationCAFile has certificate authorities for the certificates of receivers, in
	// addition to the authorities of the system.
	NotificationCAFile string
	// Deadlines of what the operator waits for, from 10 s to 2 h each; the zero value has the
	// defaults.
	Deadlines kit.Deadlines
	// ProbeInterval is the interval at which the interfaces of beds with a physical device are
	// probed, from 1 m to 24 h; 0 probes none.
	ProbeInterval time.Duration
	// TimeToLive is the default ttlSecondsAfterFinished for benchmarks that do not set it; nil
	// keeps them for ever.
	TimeToLive *time.Duration
}

// DefaultNamespace is the namespace of the operator in the chart and in config/.
// DefaultLabNamespace is the namespace of the pods of runs.
const (
	DefaultNamespace    = "nodrop-system"
	DefaultLabNamespace = "nodrop-lab"
)

// Names of the webhooks' objects, as the chart and config/ have them.
const (
	WebhookService       = "nodrop-webhook"
	WebhookConfiguration = "nodrop"
	WebhookSecret        = "nodrop-webhook-certificate" //nolint:gosec // the name of an object
)

// Names of the recorder's objects, as the chart has them.
const (
	RecorderService = "nodrop-recorder"
	RecorderSecret  = "nodrop-recorder-certificate"
)

// Validate returns an error for each invalid setting, with the names of the command's flags.
func (c Config) Validate() error {
	var problems []error
	if c.Namespace == "" {
		problems = append(problems, errors.New("--namespace is empty: set the namespace that the operator runs in"))
	}
	if c.Namespace != "" && c.Namespace == c.Lab.Namespace {
		problems = append(problems, fmt.Errorf("--namespace and --lab-namespace are both %s: privileged pods need a namespace of their own", c.Namespace))
	}
	if c.Lab.Namespace == "" {
		problems = append(problems, errors.New("--lab-namespace is empty: give the namespace that the lab's pods run in"))
	}
	if c.Lab.Image == "" {
		problems = append(problems, errors.New("--image is empty: give the image of agents and runners"))
	}
	if c.Lab.DeviceImage == "" {
		problems = append(problems, errors.New("--device-image is empty: give the image that starts virtual devices"))
	}
	switch c.Lab.PullPolicy {
	case corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
	default:
		problems = append(problems, fmt.Errorf("--image-pull-policy is %q: give Always, IfNotPresent or Never", c.Lab.PullPolicy))
	}
	if c.Recorder && (c.RecorderInterval < 100*time.Millisecond || c.RecorderInterval > 10*time.Second) {
		problems = append(problems, fmt.Errorf("--recorder-interval is %s: give 100ms to 10s", c.RecorderInterval))
	}
	problems = append(problems, c.checkDeadlines()...)
	if c.ProbeInterval != 0 && (c.ProbeInterval < minProbeInterval || c.ProbeInterval > maxProbeInterval) {
		problems = append(problems, fmt.Errorf("--bed-probe-interval is %s: give 1m to 24h, or 0 to probe no beds", c.ProbeInterval))
	}
	if c.servesPage() && c.WebhookPort == 0 && c.PageCertDir == "" {
		problems = append(problems, errors.New("--page-bind-address is given, and --webhook-port is 0: give --page-cert-dir, since there is no certificate of the webhooks"))
	}
	if c.ArchiveURL != "" {
		if _, err := archive.Open(c.ArchiveURL); err != nil {
			problems = append(problems, fmt.Errorf("--archive-url: %w", err))
		}
	}
	if c.KueueRequired != nil && !c.Kueue {
		problems = append(problems, errors.New("--kueue-required-in is given without --kueue: give both, or leave it out"))
	}
	if _, err := notifier(nil, c); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// Bounds of a deadline. Less ends runs that only had to wait for a busy API server.
const (
	minDeadline = 10 * time.Second
	maxDeadline = 2 * time.Hour
)

// Bounds of the interval of probes, and the interval without another setting. A probe starts a pod
// on each node of a bed.
const (
	minProbeInterval     = time.Minute
	maxProbeInterval     = 24 * time.Hour
	DefaultProbeInterval = 15 * time.Minute
)

// checkDeadlines reports deadlines that are out of bounds.
func (c Config) checkDeadlines() (problems []error) {
	d := cmp.Or(c.Deadlines, kit.DefaultDeadlines())
	for _, deadline := range []struct {
		flag string
		time.Duration
	}{{"device", d.Device}, {"traffic", d.Traffic}, {"runner", d.Runner}, {"clean-up", d.CleanUp}} {
		if deadline.Duration < minDeadline || deadline.Duration > maxDeadline {
			problems = append(problems, fmt.Errorf("--%s-deadline is %s: give 10s to 2h", deadline.flag, deadline.Duration))
		}
	}
	return problems
}

// Scheme knows every type that the operator works with.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	return scheme, nil
}

// NewManager builds a manager with everything that the configuration asks for,
// without controllers. Of pods it sees only those of runs, in the lab's namespace.
func NewManager(rc *rest.Config, c Config) (ctrl.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	ofRuns, err := labels.NewRequirement(labobjects.LabelUID, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("selecting the pods of runs: %w", err)
	}
	// The API server protects itself by priority and fairness. A limit of the client
	// would let clean-ups wait for places in the queue.
	rc = rest.CopyConfig(rc)
	rc.QPS = -1
	own, err := lock(rc, c)
	if err != nil {
		return nil, err
	}
	options := managerOptions(c, scheme, own, labels.NewSelector().Add(*ofRuns))
	keeper, err := newKeeper(rc, scheme, c)
	if err != nil {
		return nil, err
	}
	c.Counts.Certificate(expiration(c, keeper))
	options.Metrics = metricsOptions(c, keeper)
	if c.WebhookPort != 0 {
		options.WebhookServer = webhookServer(c, keeper)
	}
	mgr, err := ctrl.NewManager(rc, options)
	if err != nil {
		return nil, fmt.Errorf("building the manager: %w", err)
	}
	if keeper != nil {
		if err := mgr.Add(keeper); err != nil {
			return nil, fmt.Errorf("adding the keeper of the webhooks' certificate: %w", err)
		}
	}
	if c.servesPage() {
		if err := addPage(mgr, rc, c, keeper); err != nil {
			return nil, err
		}
	}
	if err := addProbes(mgr, c, keeper); err != nil {
		return nil, err
	}
	return mgr, nil
}

// managerOptions are the options of the manager that need no certificate. The cache has the pods
// of runs only.
func managerOptions(c Config, scheme *runtime.Scheme, own resourcelock.Interface, ofRuns labels.Selector) ctrl.Options {
	options := ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{DefaultTransform: stripUnused, ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {
				Namespaces: map[string]cache.Config{c.Lab.Namespace: {}},
				Label:      ofRuns,
			},
		}},
		HealthProbeBindAddress:        c.HealthAddress,
		LeaderElection:                c.LeaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       c.Namespace,
		LeaderElectionReleaseOnCancel: true,
		RenewDeadline:                 ptr(c.renewDeadline()),
		LeaseDuration:                 ptr(c.leaseDuration()),

		LeaderElectionResourceLockInterface: own,
		Controller: config.Controller{
			// Several managers in one process are one operator after the other: tests.
			SkipNameValidation: ptr(true),
			// The priority queue of controller-runtime before 0.25 can block for ever when it is
			// shut down, so that the operator holds its lock for another 30 s
			// (kubernetes-sigs/controller-runtime#3538).
			UsePriorityQueue: ptr(false),
		},
	}
	if c.Kueue {
		// Only those of benchmarks: Kueue has one for every job of the cluster.
		options.Cache.ByObject[quotas.NewWorkload()] = cache.ByObject{Label: ofRuns}
	}
	return options
}

// webhookServer returns the server of the webhooks, with the certificate of the keeper if there is
// one.
func webhookServer(c Config, keeper *webhookcert.Keeper) webhook.Server {
	return webhook.NewServer(webhook.Options{
		Host: c.WebhookHost, Port: c.WebhookPort, CertDir: c.WebhookCertDir,
		TLSOpts: []func(*tls.Config){func(t *tls.Config) {
			t.MinVersion = tls.VersionTLS13
			if keeper != nil {
				t.GetCertificate = keeper.GetCertificate
			}
		}},
	})
}

// newKeeper keeps the certificate of the webhooks; nil where files have it, or where
// there are no webhooks.
func newKeeper(rc *rest.Config, scheme *runtime.Scheme, c Config) (*webhookcert.Keeper, error) {
	if c.WebhookPort == 0 || c.WebhookCertDir != "" {
		return nil, nil
	}
	direct, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server for the webhooks' certificate: %w", err)
	}
	now := c.Now
	if now == nil {
		now = time.Now
	}
	names := []string{WebhookService + "." + c.Namespace + ".svc"}
	if c.servesPage() {
		names = append(names, PageService+"."+c.Namespace+".svc")
	}
	return webhookcert.New(webhookcert.Options{
		Secret:        client.ObjectKey{Namespace: c.Namespace, Name: WebhookSecret},
		Configuration: WebhookConfiguration,
		Names:         names,
		Reader:        direct, Writer: direct,
		Now: now, Interval: c.WebhookCertInterval,
	}), nil
}

// newRecorderKeeper keeps the certificates of the recorder.
func newRecorderKeeper(rc *rest.Config, scheme *runtime.Scheme, c Config) (*recordercert.Keeper, error) {
	direct, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server for the recorder's certificates: %w", err)
	}
	return &recordercert.Keeper{
		Secret:   client.ObjectKey{Namespace: c.Namespace, Name: RecorderSecret},
		Service:  client.ObjectKey{Namespace: c.Namespace, Name: RecorderService},
		Interval: c.RecorderInterval, Reader: direct, Writer: direct, Now: time.Now,
	}, nil
}

// addProbes makes the operator ready once it serves its webhooks and the API server
// trusts them: before that, every manifest would be refused for want of an answer.
func addProbes(mgr ctrl.Manager, c Config, keeper *webhookcert.Keeper) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	ready := healthz.Ping
	if c.WebhookPort != 0 {
		ready = mgr.GetWebhookServer().StartedChecker()
	}
	if err := mgr.AddReadyzCheck("webhooks", ready); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	if keeper != nil {
		if err := mgr.AddReadyzCheck("webhook-certificate", keeper.Ready); err != nil {
			return fmt.Errorf("adding the readiness check of the certificate: %w", err)
		}
	}
	return nil
}

// New builds the whole operator; the caller starts the manager.
func New(rc *rest.Config, c Config) (ctrl.Manager, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.WebhookPort != 0 && c.WebhookCertDir != "" {
		if _, err := os.Stat(c.WebhookCertDir); err != nil {
			return nil, fmt.Errorf("--webhook-cert-dir: %w: mount the serving certificate there, or leave the flag out: the operator then makes one", err)
		}
	}
	c.Counts = opmetrics.NewOperator()
	if err := metrics.Registry.Register(c.Counts); err != nil {
		return nil, fmt.Errorf("registering the metrics of the operator: %w", err)
	}
	mgr, err := NewManager(rc, c)
	if err != nil {
		return nil, err
	}
	options := kit.Options{
		Lab: c.Lab, DefaultPolicy: c.DefaultPolicy, Runner: benchmarks.MutualTLS{}, Counts: c.Counts, Now: time.Now,
		Deadlines: c.Deadlines, ProbeEvery: c.ProbeInterval, TimeToLive: c.TimeToLive, Kueue: c.Kueue, Connections: c.Connections,
	}
	if c.ArchiveURL != "" {
		store, err := archive.Open(c.ArchiveURL)
		if err != nil {
			return nil, fmt.Errorf("--archive-url: %w", err)
		}
		if len(c.LargeResults) > 0 {
			options.Apart = apart.NewProcess(c.LargeResults...)
			store.Whole = apart.Figures(options.Apart, store.URL())
		}
		options.Archive = store
	}
	if c.Recorder {
		keeper, err := newRecorderKeeper(rc, mgr.GetScheme(), c)
		if err != nil {
			return nil, err
		}
		if err := mgr.Add(keeper); err != nil {
			return nil, fmt.Errorf("adding the keeper of the recorder's certificates: %w", err)
		}
		options.Metrics = keeper
	}
	if options.Notify, err = notifier(rc, c); err != nil {
		return nil, err
	}
	if err := controllers.SetupWithManager(mgr, options); err != nil {
		return nil, err
	}
	if c.WebhookPort != 0 {
		err := admission.SetupWithManager(mgr, c.Lab.Namespace, c.DefaultPolicy, c.Counts,
			admission.WithKueue(c.Kueue, c.KueueRequired), admission.WithReceivers(options.Notify))
		if err != nil {
			return nil, err
		}
	}
	return mgr, nil
}

func ptr[T any](v T) *T { return &v }
