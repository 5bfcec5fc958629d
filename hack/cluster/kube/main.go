// Command kube is a whole Kubernetes in one static binary: etcd, the control
// plane, the kubelet, kube-proxy, kubectl and helm. It acts as the program whose name
// it was started under, so a folder of symlinks to it serves both the local
// cluster (hack/cluster/up) and, as KUBEBUILDER_ASSETS, the controller tests.
//
// One binary instead of seven shares one compile and one link: the packages
// they have in common are most of the code.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	helm "helm.sh/helm/v4/pkg/cmd"
	helmkube "helm.sh/helm/v4/pkg/kube"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// programs maps the name a program is started under to its entry point.
var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          daemon(apiserver.NewAPIServerCommand),
	"kube-controller-manager": daemon(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          daemon(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kube-proxy":              daemon(proxy.NewProxyCommand),
	"kubelet":                 daemon(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kubectl":                 runKubectl,
	"helm":                    runHelm,
}

// daemon defers the construction of a command until it is the chosen one: the
// constructors register flags and metrics in globals that they all share.
func daemon(newCommand func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(newCommand())) }
}

func runKubectl() {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

// runHelm passes on the exit code that a helm plugin or subcommand asks for.
func runHelm() {
	helmkube.ManagedFieldsManager = "helm" // else it would be this binary's name
	command, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err != nil {
		fmt.Fprintln(os.Stderr, "helm:", err)
		os.Exit(1)
	}
	if err := command.Execute(); err != nil {
		if coded, ok := errors.AsType[helm.CommandError](err); ok {
			os.Exit(coded.ExitCode)
		}
		os.Exit(1)
	}
}

func main() {
	// "kube kubelet ..." is the same as "kubelet ...".
	if _, ok := programs[filepath.Base(os.Args[0])]; !ok && len(os.Args) > 1 {
		os.Args = os.Args[1:]
	}
	program, ok := programs[filepath.Base(os.Args[0])]
	if !ok {
		names := slices.Sorted(maps.Keys(programs))
		fmt.Fprintf(os.Stderr, "kube: %q is not one of %s\n", os.Args[0], strings.Join(names, ", "))
		os.Exit(2)
	}
	program()
}
