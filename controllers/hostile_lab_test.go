package controllers_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/hostileteam"
	"nodrop.dev/nodrop/internal/manifests/admission"
	"nodrop.dev/nodrop/internal/testkit/honestteams"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// Sizes of the lab that a hostile team attacks.
const (
	// honestWaiting is the number of benchmarks that each honest team has waiting or running.
	honestWaiting = 4
	hostileBeds   = 20
	// hostileRun is the time for which a benchmark has its bed.
	hostileRun = 10 * time.Second
)

// hostileNamespace is the namespace of one of the hostile teams.
func hostileNamespace(i int) string { return fmt.Sprint("team-hostile-", i) }

// hostileServing contains the addresses that an operator process serves in addition to its controllers.
type hostileServing struct {
	WebhookHost    string
	WebhookPort    int
	WebhookCertDir string
	PageAddress    string
}

// operateHostileLab runs an operator with webhooks and the lab page until it is asked to end.
func operateHostileLab(ctx context.Context, cfg *rest.Config, run time.Duration, s *hostileServing) error {
	mgr, err := operator.NewManager(cfg, operator.Config{
		Namespace: operatorNamespace, Lab: labSettings(), MetricsAddress: "0", HealthAddress: "0", LeaderElect: true,
		WebhookHost: s.WebhookHost, WebhookPort: s.WebhookPort, WebhookCertDir: s.WebhookCertDir, PageAddress: s.PageAddress,
	})
	if err != nil {
		return err
	}
	always := func(*v1alpha1.Benchmark) time.Duration { return run }
	err = controllers.SetupWithManager(mgr, kit.Options{Lab: labSettings(), Runner: newFakeRunners(), Bench: &fakeBench{run: always}, Now: time.Now})
	if err != nil {
		return err
	}
	if err := admission.SetupWithManager(mgr, labNamespace, nil, nil); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// hostileLab is an API server with beds, honest teams, and an operator in a process of its own.
type hostileLab struct {
	*WithT
	t       *testing.T
	server  server
	env     *envtest.Environment
	admin   client.Client
	serving hostileServing
	// restarts is the number of operators that ended by themselves, memory the most memory of one.
	restarts atomic.Int64
	memory   atomic.Uint64
}

// newHostileLab starts everything for a number of hostile teams, fair with the flow schemas of the chart. It ends with the test.
func newHostileLab(t *testing.T, fair bool, hostile int) *hostileLab {
	t.Helper()
	l := &hostileLab{WithT: NewWithT(t), t: t}
	l.server = launchServer(t, func(env *envtest.Environment) {
		l.env = env
		env.WebhookInstallOptions = envtest.WebhookInstallOptions{
			Paths: []string{filepath.Join(kubetest.Root(t), "config", "webhook", "manifests.yaml")},
		}
		// Old versions of objects stay for five minutes.
		env.ControlPlane.Etcd = &envtest.Etcd{}
		env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", fmt.Sprint(8<<30))
	})
	t.Cleanup(func() {
		if err := l.server.stop(); err != nil {
			t.Error(err)
		}
	})
	unlimited := rest.CopyConfig(l.server.admin)
	unlimited.QPS = -1
	l.admin = newClient(t, unlimited)
	files := []string{"config/rbac/user_roles.yaml", "charts/nodrop/files/rbac/page.yaml"}
	if fair {
		files = append(files, "charts/nodrop/files/fairness.yaml")
	}
	for _, file := range files {
		for _, o := range kubetest.Objects(t, filepath.Join(kubetest.Root(t), file)) {
			create(t, l.admin, o)
		}
	}
	kubetest.Grant(t, l.admin, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "nodrop-page-auth"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "nodrop-page-auth"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: operatorNamespace, Name: "nodrop-operator"}},
	})
	l.startOperator()
	l.fill(hostile)
	return l
}

// startOperator runs the operator in another process until the test ends.
func (l *hostileLab) startOperator() {
	l.t.Helper()
	o := l.env.WebhookInstallOptions
	page, err := net.Listen("tcp", "localhost:0")
	l.Expect(err).NotTo(HaveOccurred())
	l.serving = hostileServing{o.LocalServingHost, o.LocalServingPort, o.LocalServingCertDir, page.Addr().String()}
	l.Expect(page.Close()).To(Succeed())
	c := l.server.operator
	text, err := json.Marshal(labTask{Host: c.Host, CA: c.CAData, Cert: c.CertData, Key: c.KeyData, Run: hostileRun, Serving: &l.serving})
	l.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(l.t.TempDir(), "task.json")
	l.Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for l.runOperator(file, stop) {
			l.restarts.Add(1)
		}
	}()
	l.t.Cleanup(func() {
		close(stop)
		<-ended
	})
}

// runOperator runs one process until it is stopped. It returns true if the process ended by itself,
// as an operator does that has lost its lease; the kubelet would start it again.
func (l *hostileLab) runOperator(file string, stop <-chan struct{}) bool {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), labOperator+"="+file, "GOGC=100", "GOMEMLIMIT=512MiB") // The operator as it is deployed.
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		l.t.Errorf("starting the operator: %v", err)
		return false
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
	watch := time.NewTicker(200 * time.Millisecond)
	defer watch.Stop()
	for {
		select {
		case <-watch.C:
			l.watchMemory(cmd.Process.Pid)
		case <-done:
			return true
		case <-stop:
			_ = cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-done:
			case <-time.After(patience):
				_ = cmd.Process.Kill()
				<-done
				l.t.Error("the operator did not end")
			}
			return false
		}
	}
}

// watchMemory keeps the most memory that an operator process has had, in bytes.
func (l *hostileLab) watchMemory(pid int) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return
	}
	if status, err := process.NewStatus(); err == nil {
		l.memory.Store(max(l.memory.Load(), status.VmHWM))
	}
}

// fill makes beds that all teams may use, the teams, and a LabPolicy by which they share beds
// equally.
func (l *hostileLab) fill(hostile int) {
	l.t.Helper()
	c, ctx := l.admin, l.t.Context()
	create(l.t, c, configMap("model", "model.csv", table), &v1alpha1.LabPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName},
		Spec:       v1alpha1.LabPolicySpec{Others: v1alpha1.TeamShare{Weight: 1, MaxReservedPoolPercent: 5}},
	})
	for i := range hostileBeds {
		bed := modelled(fmt.Sprintf("bed-%02d", i))
		bed.Spec.Access = []v1alpha1.AccessGrant{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"lab": "shared"}}, MaxPriority: 100}}
		l.Eventually(func() error { return c.Create(ctx, bed.DeepCopy()) }, patience, time.Second).Should(Succeed())
	}
	for i := range honestteams.Count {
		name := honestteams.Namespace(i)
		l.newTeam(name)
		p := profile()
		p.Namespace = name
		create(l.t, c, p)
	}
	for i := range hostile {
		l.newTeam(hostileNamespace(i))
	}
}

// newTeam makes a namespace with an account that may edit it.
func (l *hostileLab) newTeam(name string) {
	l.t.Helper()
	ns := namespace(name, "restricted")
	ns.SetLabels(map[string]string{"lab": "shared"})
	create(l.t, l.admin, ns, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: honestteams.AccountName}})
	// No controller aggregates the ClusterRole edit here.
	for _, role := range []string{"nodrop-edit", "system:aggregate-to-edit"} {
		kubetest.Grant(l.t, l.admin, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: strings.ReplaceAll(role, ":", "-")},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: name, Name: honestteams.AccountName}},
		})
	}
}

// attack runs a number of hostile teams until the context ends, or one of them fails. One alone uses all its rights, and several
// make objects of NoDrop.
func (l *hostileLab) attack(ctx context.Context, teams, objects, writes int) (hostileteam.Report, error) {
	all, ctx := errgroup.WithContext(ctx)
	reports := make([]hostileteam.Report, teams)
	for i := range teams {
		all.Go(func() (err error) {
			reports[i], err = l.attackOf(ctx, hostileNamespace(i), teams > 1, objects, writes)
			return err
		})
	}
	err := all.Wait()
	return hostileteam.Merge(reports...), err
}

// attackOf runs the hostile team of a namespace until the context ends.
func (l *hostileLab) attackOf(ctx context.Context, namespace string, onlyObjects bool, objects, writes int) (hostileteam.Report, error) {
	cfg, err := honestteams.Account(ctx, l.server.admin, l.admin, namespace)
	if err != nil {
		return hostileteam.Report{}, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(l.env.WebhookInstallOptions.LocalServingCAData) {
		return hostileteam.Report{}, errors.New("the authority of the webhooks has no certificate")
	}
	return hostileteam.Team{
		Namespace: namespace, Bed: "bed-00", Receiver: "https://hooks.example.com", Objects: objects, Writes: writes, OnlyObjects: onlyObjects,
		Page: "https://" + l.serving.PageAddress, PageName: "localhost", Roots: roots, Token: cfg.BearerToken,
	}.Run(ctx, cfg)
}
