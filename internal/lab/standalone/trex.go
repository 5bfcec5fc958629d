package standalone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic/trex"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
	"nodrop.dev/nodrop/internal/workload"
)

const (
	// TrexDirEnv names the directory of the TRex server where --trex does not.
	TrexDirEnv = "NODROP_TREX_DIR"
	// TrexRPCPort is the port of the server in the namespace of the run.
	TrexRPCPort = 4501
	// trexStartTimeout bounds the start of the server on packet sockets, which takes some
	// seconds, and trexCardsStartTimeout on cards: there TRex waits for links, of an igb for
	// 7 s and more. In an emulated machine all of it takes minutes.
	trexStartTimeout      = time.Minute
	trexCardsStartTimeout = 5 * time.Minute
)

// openTRex starts a TRex server and opens the engine trex on it. The server runs in software
// mode, on the tester's ends of a device in a network namespace or on the interfaces that
// are cabled to a physical one, or with hugePages on cards that are bound to vfio-pci.
func (b *Bench) openTRex(o Options) error {
	bed := &b.config.Bed
	if err := b.cardsUsable(); err != nil {
		return err
	}
	dir, err := trexDir(o.TrexDir)
	if err != nil {
		return err
	}
	ports, err := b.isolate("makes network namespaces and opens packet sockets or cards", o)
	if err != nil {
		return err
	}
	// An interruption must not leave the server behind, which is a process of its own.
	interrupted, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	patience := trexStartTimeout
	if onCards(bed) {
		patience = trexCardsStartTimeout
	}
	ctx, cancel := context.WithTimeoutCause(interrupted, patience, fmt.Errorf("it took longer than %s", patience))
	defer cancel()
	settings := bed.Spec.Engine.Server()
	var hosts []workload.Port
	if plan.NeedHosts(b.config.Benchmark.Spec.Tests) {
		hosts = plan.HostPorts(ports, &b.config.Profile)
	}
	c := server.Config{Dir: dir, RPCPort: TrexRPCPort, Shared: true, ASTF: len(hosts) > 0}
	if pages := settings.HugePages; pages != nil {
		c.HugePagesMiB = int(pages.Total.Value() >> 20)
	} else {
		c.Software = &server.Software{RingFrames: settings.Software.Ring()}
	}
	options := trex.Options{TimedFramesPerSecond: settings.TimedRate()}
	options.Host, _ = os.Hostname()
	for i, p := range ports {
		port := server.Port{Name: p.Name, Interface: p.Interface}
		if a := bed.Spec.Ports[i].Attachment; c.Software == nil {
			port.Resource = a.SRIOV.ResourceName
		}
		c.Ports = append(c.Ports, port)
		options.Ports = append(options.Ports, trex.Port{Name: p.Name, Index: i, Interface: p.Interface, Addresses: p.HostAddresses(&b.config.Profile), VLANs: p.VLANsUnder(&b.config.Profile)})
	}
	s, err := server.Start(ctx, c, server.Options{})
	switch {
	case err != nil && interrupted.Err() != nil:
		return &exit.Coded{Err: errors.New("interrupted while the TRex server was starting"), Code: exit.Aborted}
	case err != nil:
		return fmt.Errorf("starting the TRex server in %s: %w", dir, err)
	}
	// One that ended by itself says why, with the last lines that it wrote.
	b.closers = append(b.closers, func() error { return errors.Join(s.Err(), s.Close()) })
	b.Broken = func(ctx context.Context) error { return lostServer(ctx, s) }
	options.Endpoint = s.Endpoint()
	engine, err := trex.Open(ctx, options, hosts)
	if err != nil {
		return fmt.Errorf("opening the engine trex: %w", err)
	}
	b.prepared(b.config, engine, b.driver)
	return nil
}

// onCards reports whether the ports of the bed are cards that TRex takes from the kernel.
func onCards(bed *v1alpha1.TestBed) bool {
	return bed.Spec.Engine.Kind == v1alpha1.EngineTRex && bed.Spec.Engine.Server().HugePages != nil
}

// cardsUsable fails when a bed with cards cannot be run without a cluster: cards are cabled
// to a physical device or to each other, and their PCI addresses are in the environment, as
// a device plugin passes them to a pod.
func (b *Bench) cardsUsable() error {
	bed := &b.config.Bed
	if !onCards(bed) {
		return nil
	}
	const software = "apply the manifests to the cluster, or give engine: {kind: trex, trex: {software: {}}}, which sends through packet sockets"
	if !cabled(bed.Spec.Device) {
		return hint.With(fmt.Errorf("engine.trex.hugePages of TestBed %s is for network cards, and no card is cabled to the device of this run: give device.physical, or device.backToBack with joinedBy: Cables", bed.Name), software)
	}
	for i, p := range bed.Spec.Ports {
		if p.Attachment == nil || p.Attachment.SRIOV == nil {
			return hint.With(fmt.Errorf("%s is %q, and engine.trex.hugePages takes cards: give sriov.resourceName, such as lab/%s", attachmentPath(bed, i), kindOf(p.Attachment), p.Name), software)
		}
		name := server.Variable(p.Attachment.SRIOV.ResourceName)
		if os.Getenv(name) == "" {
			return hint.With(fmt.Errorf("the environment variable %s is empty: it must contain the PCI address of the card of port %s", name, p.Name),
				fmt.Sprintf("bind the card to vfio-pci and name it: sudo %s=0000:3b:00.0 nodrop run ...; several ports of one resource take its addresses, separated by commas, in turn", name))
		}
	}
	return nil
}

// lostServer waits until a server ends by itself, and says how in one line, or until
// ctx ends.
func lostServer(ctx context.Context, s *server.Server) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.Done():
	}
	err := s.Err()
	if ended := (*server.Ended)(nil); errors.As(err, &ended) {
		return errors.New(ended.Short())
	}
	return err
}

// trexDir checks that a directory has the server's binary.
func trexDir(dir string) (string, error) {
	const advice = "unpack a release of TRex (v3.08) and name its directory: sudo nodrop run --trex DIR ...; docs/cli.md says where to get it"
	if dir == "" {
		return "", hint.With(errors.New("the engine trex needs a TRex server, and no directory of one was given"), advice)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("looking for the TRex server: %w", err)
	}
	info, err := os.Stat(filepath.Join(dir, server.Binary))
	switch {
	case err != nil:
		return "", hint.With(fmt.Errorf("looking for the TRex server: %w", err), advice)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return "", hint.With(fmt.Errorf("%s cannot be executed", filepath.Join(dir, server.Binary)), advice)
	}
	return dir, nil
}
