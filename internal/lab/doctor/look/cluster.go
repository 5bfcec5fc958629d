package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/lab/doctor"
)

// Cluster reads a cluster through its API server.
type Cluster struct {
	kube kubernetes.Interface
	// objects reads NoDrop's kinds and those of others that have no Go types here.
	objects client.Client
	lab     string
	// namespace of the operator.
	namespace string
	// deployment of the operator, once it was seen.
	deployment *appsv1.Deployment
}

// New returns a cluster with the operator in one namespace and the lab in another.
// The scheme of objects must have NoDrop's kinds.
func New(config *rest.Config, objects client.Client, namespace, lab string) (*Cluster, error) {
	config = rest.CopyConfig(config)
	// A cluster of many nodes takes many short requests.
	config.QPS, config.Burst = 50, 100
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &Cluster{kube: kube, objects: objects, namespace: namespace, lab: lab}, nil
}

// Ask selects the facts to read.
type Ask struct {
	// Bed by name; "" for the whole cluster.
	Bed string
	// Nodes to read; none for those of the bed, or all.
	Nodes []string
	// Engines to check; none for those of the bed, or all.
	Engines []doctor.Engine
	// Probe reads nodes by pods; nil does not.
	Probe *Probe
}

// Facts of the cluster. An error means that nothing can be judged: the cluster
// does not answer, or its nodes may not be seen.
func (c *Cluster) Facts(ctx context.Context, ask Ask) (doctor.Facts, error) {
	f := doctor.Facts{Lab: c.lab, Namespace: c.namespace}
	version, err := c.kube.Discovery().ServerVersion()
	if err != nil {
		return f, fmt.Errorf("asking the cluster for its version: %w", err)
	}
	f.Kubernetes = doctor.Known(version.GitVersion)
	f.Kinds = c.kinds()
	if ask.Bed != "" {
		if f.Bed, err = c.bed(ctx, ask.Bed); err != nil {
			return f, err
		}
	}
	f.Operator = c.operator(ctx)
	f.Recorder = c.recorder(ctx)
	f.Multus = c.multus(ctx)
	f.Networks = c.networks(ctx)
	f.PoolResources = c.poolResources(ctx, f)
	f.ClaimTemplates, f.DeviceClasses = c.claims(ctx)
	f.Started = c.started(ctx)
	engines := ask.Engines
	if len(engines) == 0 && f.Bed != nil {
		engines = doctor.EnginesOf(f.Bed)
	}
	if len(engines) == 0 {
		engines = doctor.Engines
	}
	f.Admission = c.admission(ctx, engines, f.Bed)
	if f.Nodes, err = c.nodes(ctx, f.Bed, ask.Nodes); err != nil {
		return f, err
	}
	c.probe(ctx, ask.Probe, f.Nodes)
	c.attach(ctx, ask.Probe, f.Bed, f.Nodes)
	if err := ctx.Err(); err != nil {
		return f, fmt.Errorf("reading the cluster: %w", err)
	}
	return f, nil
}

// see reads something that the caller may have no right to; what names the right.
func see[T any](what string, value T, err error) doctor.Seen[T] {
	switch {
	case err == nil:
		return doctor.Known(value)
	case apierrors.IsForbidden(err):
		return doctor.NotSeen[T]("you may not "+what, "ask the cluster's administrator for the right to "+what)
	}
	return doctor.NotSeen[T](err.Error(), "ask again; if it stays so, ask the cluster's administrator")
}

// kinds returns the resources of the relevant API groups. A group that is not served is no
// error.
func (c *Cluster) kinds() doctor.Seen[[]string] {
	groups, err := c.kube.Discovery().ServerGroups()
	if err != nil {
		return see[[]string]("read the API server's list of groups", nil, err)
	}
	var kinds []string
	for _, group := range groups.Groups {
		if !slices.Contains([]string{"nodrop.dev", "k8s.cni.cncf.io", "resource.k8s.io"}, group.Name) {
			continue
		}
		for _, version := range group.Versions {
			list, err := c.kube.Discovery().ServerResourcesForGroupVersion(version.GroupVersion)
			if err != nil && !apierrors.IsNotFound(err) {
				return see[[]string]("read what "+version.GroupVersion+" serves", nil, err)
			}
			if err != nil {
				continue
			}
			for _, r := range list.APIResources {
				kinds = append(kinds, version.GroupVersion+"/"+r.Name)
			}
		}
	}
	return doctor.Known(kinds)
}

func (c *Cluster) bed(ctx context.Context, name string) (*v1alpha1.TestBed, error) {
	var bed v1alpha1.TestBed
	err := c.objects.Get(ctx, client.ObjectKey{Name: name}, &bed)
	if err == nil {
		return &bed, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading test bed %s: %w", name, err)
	}
	err = fmt.Errorf("no TestBed %q", name)
	var there v1alpha1.TestBedList
	if listing := c.objects.List(ctx, &there); listing != nil || len(there.Items) == 0 {
		return nil, hint.With(err, "leave --bed out to check the whole cluster")
	}
	var names []string
	for _, b := range there.Items {
		names = append(names, b.Name)
	}
	return nil, hint.With(err, "there are "+strings.Join(names, ", "))
}

const operatorName = "nodrop-operator"

func (c *Cluster) operator(ctx context.Context) doctor.Seen[*doctor.Operator] {
	d, err := c.kube.AppsV1().Deployments(c.namespace).Get(ctx, operatorName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return doctor.Known[*doctor.Operator](nil)
	}
	if err != nil {
		return see[*doctor.Operator]("get deployments in namespace "+c.namespace, nil, err)
	}
	c.deployment = d
	o := &doctor.Operator{Ready: d.Status.ReadyReplicas, Replicas: d.Status.Replicas}
	for _, container := range d.Spec.Template.Spec.Containers {
		for _, arg := range container.Args {
			if image, ok := strings.CutPrefix(arg, "--trex-image="); ok {
				o.TRexImage = image
			}
		}
	}
	return doctor.Known(o)
}

func (c *Cluster) multus(ctx context.Context) doctor.Seen[[]doctor.DaemonSet] {
	list, err := c.kube.AppsV1().DaemonSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return see[[]doctor.DaemonSet]("list daemonsets in all namespaces", nil, err)
	}
	var found []doctor.DaemonSet
	for _, d := range list.Items {
		if strings.Contains(d.Name, "multus") && !strings.Contains(d.Name, "admission") {
			found = append(found, doctor.DaemonSet{Name: d.Namespace + "/" + d.Name, Ready: d.Status.NumberReady, Desired: d.Status.DesiredNumberScheduled})
		}
	}
	return doctor.Known(found)
}

// started finds for each node a benchmark that measured a virtual device there,
// which proves that devices can be started on it.
func (c *Cluster) started(ctx context.Context) doctor.Seen[map[string]string] {
	var beds v1alpha1.TestBedList
	if err := c.objects.List(ctx, &beds); err != nil {
		return notServed[map[string]string]("list testbeds", err)
	}
	var benchmarks v1alpha1.BenchmarkList
	if err := c.objects.List(ctx, &benchmarks); err != nil {
		return notServed[map[string]string]("list benchmarks in all namespaces", err)
	}
	nodes := map[string]string{}
	for _, bed := range beds.Items {
		if !device.Of(bed.Spec.Device).OnNode || len(bed.Spec.Ports) == 0 {
			continue
		}
		for _, b := range benchmarks.Items {
			if b.Status.TestBedName == bed.Name && b.Status.Results != nil && b.Status.Results.Rows > 0 {
				nodes[bed.Spec.Ports[0].Node] = b.Namespace + "/" + b.Name
			}
		}
	}
	return doctor.Known(nodes)
}

// errNotServed is the error of reads of NoDrop's objects before it is installed.
var errNotServed = errors.New("NoDrop's definitions are not installed")

func notServed[T any](what string, err error) doctor.Seen[T] {
	var zero T
	if isNotServed(err) {
		return doctor.NotSeen[T](errNotServed.Error(), "install the chart: docs/own-cluster.md")
	}
	return see(what, zero, err)
}
