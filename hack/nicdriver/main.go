// Command nicdriver offers interfaces of a node, of whatever kind, by dynamic
// resource allocation, for tests where no card has virtual functions:
//
//	nicdriver -driver nic.test.nodrop.dev -node node1 nd-nic1 nd-nic2
//
// A claim's interface has, in the pod, the name by which the pod calls the claim.
// It is moved by a hook of the container runtime, which is this program too: the
// CDI names the hook, so that neither Multus nor a CNI plugin takes part.
//
// The driver calls the API server through kubectl, which must be in the PATH.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nicdriver:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 3 && args[0] == hookCommand {
		return hook(os.Stdin, args[1], args[2])
	}
	name := flag.String("driver", "", "`name` of the driver, such as nic.test.nodrop.dev")
	node := flag.String("node", "", "`name` of this node")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: nicdriver -driver NAME -node NAME INTERFACE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *name == "" || *node == "" || flag.NArg() == 0 {
		return fmt.Errorf("-driver, -node and at least one interface are needed")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	d := &driver{name: *name, node: *node}
	stopServing, err := d.serve()
	if err != nil {
		return err
	}
	if err := d.publish(ctx, flag.Args()); err != nil {
		return errors.Join(err, stopServing())
	}
	log.Printf("%s: offers %v", d.name, flag.Args())
	<-ctx.Done()
	log.Printf("%s: stopping", d.name)
	return errors.Join(d.withdraw(context.WithoutCancel(ctx)), stopServing())
}
