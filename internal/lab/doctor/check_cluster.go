package doctor

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Groups of the API that engines depend on.
const (
	groupNoDrop   = "nodrop.dev"
	groupNetworks = "k8s.cni.cncf.io"
)

// kindClaimTemplates in the version that this program reads.
const kindClaimTemplates = "resource.k8s.io/v1/resourceclaimtemplates"

// cutKind divides group/version/resource.
func cutKind(kind string) (group, resource string) {
	group, rest, _ := strings.Cut(kind, "/")
	_, resource, _ = strings.Cut(rest, "/")
	return group, resource
}

var oldestKubernetes = version.MustParseGeneric("1.31.0")

func kubernetes(f Facts, _ Engine) verdict {
	if !f.Kubernetes.IsKnown() {
		return unknown(f.Kubernetes.Unknown)
	}
	v, err := version.ParseGeneric(f.Kubernetes.Value)
	if err == nil && v.LessThan(oldestKubernetes) {
		return missing(f.Kubernetes.Value, "update the cluster to Kubernetes 1.31 or later")
	}
	return good(f.Kubernetes.Value)
}

func definitions(f Facts, _ Engine) verdict {
	if !f.Kinds.IsKnown() {
		return unknown(f.Kinds.Unknown)
	}
	var lacking []string
	for _, kind := range []string{"testbeds", "trafficprofiles", "benchmarks"} {
		if !f.serves(groupNoDrop, kind) {
			lacking = append(lacking, kind)
		}
	}
	if len(lacking) > 0 {
		return missing("the API server does not serve "+strings.Join(lacking, ", "), "install the chart: docs/own-cluster.md")
	}
	return good("testbeds, trafficprofiles, benchmarks")
}

func operator(f Facts, _ Engine) verdict {
	o := f.Operator.Value
	switch {
	case !f.Operator.IsKnown():
		return unknown(f.Operator.Unknown)
	case o == nil:
		return missing("no Deployment nodrop-operator in namespace "+f.Namespace, "install the chart, or set the operator's namespace with --operator-namespace")
	case o.Ready == 0:
		return missing(fmt.Sprintf("0 of %d pods are ready", o.Replicas), "see kubectl describe pods -n "+f.Namespace+" -l app.kubernetes.io/component=operator")
	}
	return good(fmt.Sprintf("%d of %d pods are ready", o.Ready, o.Replicas))
}

// bedReady repeats what the operator says of the bed.
func bedReady(f Facts, _ Engine) verdict {
	if f.Bed == nil {
		return verdict{}
	}
	advice := "see kubectl describe testbed " + f.Bed.Name
	c := meta.FindStatusCondition(f.Bed.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case c == nil || c.ObservedGeneration < f.Bed.Generation:
		return unknown(Reason{Why: "the operator has not yet judged the bed", Advice: "ask again; if it stays so, see the operator's log"})
	case c.Status != metav1.ConditionTrue:
		return missing(c.Reason+": "+c.Message, advice)
	}
	return good(c.Reason + ": " + c.Message)
}

func multusDefinition(f Facts, _ Engine) verdict {
	switch {
	case !usesMultus(f.Bed):
		return verdict{}
	case !f.Kinds.IsKnown():
		return unknown(f.Kinds.Unknown)
	case !f.serves(groupNetworks, "network-attachment-definitions"):
		return missing("the API server does not serve network-attachment-definitions", "install Multus: its daemon puts interfaces into traffic pods")
	}
	return good("network-attachment-definitions are served")
}

func multusPods(f Facts, _ Engine) verdict {
	switch {
	case !usesMultus(f.Bed), f.Kinds.IsKnown() && !f.serves(groupNetworks, "network-attachment-definitions"):
		return verdict{}
	case !f.Multus.IsKnown():
		// Multus is installed; only the state of its pods cannot be read.
		return warning(f.Multus.Unknown.Why, f.Multus.Unknown.Advice)
	case len(f.Multus.Value) == 0:
		return warning("no DaemonSet has multus in its name", "check that Multus is in the CNI configuration of the bed's nodes, if it was added by hand")
	}
	var all []string
	level := Good
	for _, d := range f.Multus.Value {
		if d.Ready < d.Desired || d.Desired == 0 {
			level = Missing
		}
		all = append(all, fmt.Sprintf("%s: %d of %d ready", d.Name, d.Ready, d.Desired))
	}
	v := verdict{level: level, seen: strings.Join(all, ", ")}
	if level == Missing {
		v.advice = "see kubectl get pods -A -o wide, and the log of the Multus pods that are not ready"
	}
	return v
}

// networks checks the networks that the ports of a bed name.
func networks(f Facts, _ Engine) verdict {
	if f.Bed == nil {
		return verdict{}
	}
	var named, lacking, other []string
	for _, p := range f.Bed.Spec.Ports {
		if p.Attachment == nil || p.Attachment.SRIOV == nil || p.Attachment.SRIOV.NetworkName == "" {
			continue
		}
		a := p.Attachment.SRIOV
		first := !slices.Contains(named, a.NetworkName)
		if first {
			named = append(named, a.NetworkName)
		}
		i := slices.IndexFunc(f.Networks.Value, func(n Network) bool { return n.Name == a.NetworkName })
		switch {
		case i < 0 && first:
			lacking = append(lacking, a.NetworkName)
		case i >= 0 && f.Networks.Value[i].Resource != a.ResourceName:
			other = append(other, fmt.Sprintf("%s is for %q, port %s asks for %s", a.NetworkName, f.Networks.Value[i].Resource, p.Name, a.ResourceName))
		}
	}
	switch {
	case len(named) == 0:
		return verdict{}
	case !f.Networks.IsKnown():
		return unknown(f.Networks.Unknown)
	case len(lacking) > 0:
		return missing("no NetworkAttachmentDefinition "+strings.Join(lacking, ", "), "create it in namespace "+f.Lab+", or leave networkName out: NoDrop then makes one")
	case len(other) > 0:
		return missing(strings.Join(other, "; "), "correct the annotation k8s.v1.cni.cncf.io/resourceName of the network, or the port")
	}
	return good(strings.Join(named, ", "))
}

func claimTemplates(f Facts, _ Engine) verdict {
	if f.Bed == nil || !slices.ContainsFunc(f.Bed.Spec.Ports, claims) {
		return verdict{}
	}
	var named, lacking []string
	for _, p := range f.Bed.Spec.Ports {
		if !claims(p) {
			continue
		}
		name := p.Attachment.ResourceClaim.TemplateName
		if slices.Contains(named, name) {
			continue
		}
		named = append(named, name)
		if !slices.Contains(f.ClaimTemplates.Value, name) {
			lacking = append(lacking, name)
		}
	}
	switch {
	case f.Kinds.IsKnown() && !slices.Contains(f.Kinds.Value, kindClaimTemplates):
		return missing("the API server does not serve resource.k8s.io/v1", "update to Kubernetes 1.34 or later, or attach the ports by sriov")
	case !f.ClaimTemplates.IsKnown():
		return unknown(f.ClaimTemplates.Unknown)
	case len(lacking) > 0:
		return missing("no ResourceClaimTemplate "+strings.Join(lacking, ", "), "create it in namespace "+f.Lab)
	case f.DeviceClasses.IsKnown() && len(f.DeviceClasses.Value) == 0:
		return missing("no DeviceClass", "install a driver of dynamic resource allocation for network cards")
	}
	return good(strings.Join(named, ", "))
}

func capabilities(f Facts, e Engine) verdict {
	answer, asked := f.Admission[e]
	switch {
	case !asked:
		return verdict{}
	case !answer.IsKnown():
		return unknown(answer.Unknown)
	case answer.Value == NoLab:
		return missing("there is no namespace "+f.Lab, "install the chart, or set the lab's namespace with --lab-namespace")
	case answer.Value != "":
		return missing(answer.Value, "kubectl label namespace "+f.Lab+" pod-security.kubernetes.io/enforce=privileged, or change the policy that is named")
	}
	return good("a pod like those of the engine is admitted (dry run)")
}

func trexImage(f Facts, e Engine) verdict {
	image := settingsOf(f.Bed, e).Image
	switch {
	case image != "":
		return good(image + ", of the bed")
	case !f.Operator.IsKnown():
		return unknown(f.Operator.Unknown)
	case f.Operator.Value == nil || f.Operator.Value.TRexImage == "":
		return missing("neither the operator nor a bed names one", "build Dockerfile.trex, and install the chart with the image, or set engine.trex.image of the bed")
	}
	return good(f.Operator.Value.TRexImage)
}

func someNode(f Facts, _ Engine) verdict {
	if len(f.Nodes) > 0 {
		return verdict{}
	}
	return missing("there is no node", "join a node to the cluster")
}
