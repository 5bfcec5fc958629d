// Command nicplugin offers interfaces of a node, of whatever kind, as a resource
// of Kubernetes, for tests where no card has virtual functions. It does so in the
// way of the SR-IOV network device plugin, with names of interfaces in the place
// of PCI addresses:
//
//	nicplugin -resource test.nodrop.dev/nic nd-nic1 nd-nic2
//
// Started by a container runtime it is the CNI plugin that moves into the pod what
// the kubelet allocated: Multus names it, for a NetworkAttachmentDefinition
// with the annotation k8s.v1.cni.cncf.io/resourceName.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func main() {
	if command := os.Getenv("CNI_COMMAND"); command != "" {
		os.Exit(cni(command, os.Stdin, os.Stdout))
	}
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "nicplugin:", err)
		os.Exit(1)
	}
}

func run() error {
	resource := flag.String("resource", "", "`name` of the resource, such as test.nodrop.dev/nic")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: nicplugin -resource NAME INTERFACE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if domain, name, _ := strings.Cut(*resource, "/"); domain == "" || name == "" {
		return fmt.Errorf("-resource %q is not DOMAIN/NAME", *resource)
	}
	if flag.NArg() == 0 {
		return fmt.Errorf("no interface is named: name those to offer as %s", *resource)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	changes, err := linkChanges(ctx)
	if err != nil {
		return err
	}
	used := podResources("/var/lib/kubelet/pod-resources/kubelet.sock", *resource)
	p := &plugin{resource: *resource, folder: deviceplugin.DevicePluginPath, nics: newNICs(flag.Args(), used, onNode), changes: changes}
	return p.run(ctx)
}
