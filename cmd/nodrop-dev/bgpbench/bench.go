package bgpbench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/bgp"
)

// The injectors.
const (
	ours  = "nodrop"
	other = "gobgpd"
)

// group is the number of prefixes that have one AS path.
const group = 1000

// Case is a number of routes of an IP version.
type Case struct {
	Routes uint32
	IPv6   bool
}

// Cases returns the cases that are measured unless Options set others.
func Cases() []Case {
	return []Case{{Routes: 100_000}, {Routes: 500_000}, {Routes: 1_000_000}, {500_000, true}}
}

// Options of a measurement.
type Options struct {
	Cases   []Case
	Routers []string
	// Program that runs Inject with Arguments.
	Program   string
	Arguments []string
	// Timeout of each measurement.
	Timeout time.Duration
	// Progress gets each row as soon as it is measured; nil for none.
	Progress func(Row)
}

// Row is one measurement.
type Row struct {
	Case
	Router, Injector string
	// Elapsed is the time from the first route that went out until the receiver had
	// learnt the last from the router; with gobgpd from the call of its API.
	Elapsed time.Duration
	// Own is the part that the injector needed for itself; 0 where it is not seen.
	Own time.Duration
	// Peak is by how much the resident memory of the injector grew above that of its
	// program, Device the resident memory of the router's BGP process, in bytes.
	Peak, Device uint64
}

// Rate is routes per second.
func (r Row) Rate() float64 { return float64(r.Routes) / r.Elapsed.Seconds() }

// Run measures one case after the other, each with a router of its own.
func Run(ctx context.Context, o Options) (rows []Row, err error) {
	for _, router := range o.Routers {
		for _, c := range o.Cases {
			for _, injector := range []string{ours, other} {
				row := Row{Case: c, Router: router, Injector: injector}
				if err := o.measure(ctx, &row); err != nil {
					return rows, fmt.Errorf("%d routes by %s into %s: %w", c.Routes, injector, router, err)
				}
				if rows = append(rows, row); o.Progress != nil {
					o.Progress(row)
				}
			}
		}
	}
	return rows, nil
}

// sets of a case, with AS paths like those of a real table.
func (c Case) sets() (all []routing.Routes) {
	whole := routing.Routes{First: netip.MustParsePrefix("16.0.0.0/24"), Count: c.Routes, Attributes: routing.Attributes{NextHop: netip.MustParseAddr("198.18.1.2")}}
	if c.IPv6 {
		whole.First, whole.Attributes.NextHop = netip.MustParsePrefix("2a00::/48"), netip.MustParseAddr("2001:2:0:1::2")
	}
	for i := uint32(0); i < c.Routes; i += group {
		set := whole
		set.Name, set.First, set.Count = fmt.Sprint(i), whole.Prefix(i), min(group, c.Routes-i)
		set.Attributes.ASPath = []uint32{100_000 + i/group, 300_000 + i%977}
		all = append(all, set)
	}
	return all
}

func (o *Options) measure(ctx context.Context, row *Row) (err error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	b, err := newBed()
	defer b.close()
	if err != nil {
		return err
	}
	var config strings.Builder
	if err := router.Render(&config, row.Router, router.Config{ASN: deviceASN, RouterID: netip.MustParseAddr("198.18.0.254"), Sessions: b.sessions[:]}); err != nil {
		return err
	}
	daemons, err := router.Start(ctx, b.device, row.Router, config.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, daemons.Stop()) }()
	receiver := bgp.New(bgp.Options{Ports: map[string]bgp.Port{"p": {Namespace: b.receiver}}, Retry: 100 * time.Millisecond})
	defer func() { err = errors.Join(err, receiver.Close()) }()
	if err := receiver.Open(ctx, b.sessions[1:]); err != nil {
		return errors.Join(err, daemons.Err())
	}
	folder, err := os.MkdirTemp("", "nodrop-bgp-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	j := &job{Kind: row.Injector, Session: b.sessions[0], Sets: row.sets(), Socket: filepath.Join(folder, "api")}
	if row.Injector == other {
		j.Sets = nil
	}
	p, err := o.start(ctx, b, j)
	if err != nil {
		return err
	}
	defer p.stop()
	sets := row.sets()
	want := routing.Readvertised(deviceASN, b.sessions[0].LocalASN, sets)
	start := monotonic()
	if row.Injector == other {
		if err := stream(ctx, j.Socket, sets); err != nil {
			return err
		}
	}
	d, err := p.inject()
	if err != nil {
		return err
	}
	if d.Start > 0 {
		start = d.Start
	}
	learnt, err := receiver.Await(ctx, b.sessions[1].Name, want)
	if err != nil {
		return errors.Join(err, daemons.Err())
	}
	row.Elapsed, row.Own = time.Duration(learnt.Last-start), d.Own
	highest, err := peak(p.command.Process.Pid)
	if err != nil {
		return err
	}
	row.Peak = highest - d.Base
	row.Device, err = peak(daemons.PID())
	return err
}

// process is an injector.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	said    *strings.Builder
}

func (o *Options) start(ctx context.Context, b *bed, j *job) (*process, error) {
	p := &process{command: exec.CommandContext(ctx, o.Program, o.Arguments...), said: &strings.Builder{}}
	p.command.Stderr = p.said
	var err error
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := netif.In(b.injector, p.command.Start); err != nil {
		return nil, fmt.Errorf("starting the injector: %w", err)
	}
	if err := json.NewEncoder(p.in).Encode(j); err != nil {
		return nil, p.failed(err)
	}
	if _, err := p.out.ReadBytes('\n'); err != nil {
		return nil, p.failed(err)
	}
	return p, nil
}

func (p *process) inject() (d done, err error) {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return d, p.failed(err)
	}
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &d)
	}
	if err != nil {
		return d, p.failed(err)
	}
	return d, nil
}

func (p *process) stop() {
	_ = p.in.Close()
	_ = p.command.Wait()
}

func (p *process) failed(err error) error {
	p.stop()
	return fmt.Errorf("the injector failed: %w: %s", err, strings.TrimSpace(p.said.String()))
}

// Print writes rows as a table.
func Print(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "ROUTES\tROUTER\tINJECTOR\tELAPSED\tROUTES/S\tOWN\tMEMORY\tROUTER'S MEMORY\tFASTER\t")
	for _, r := range rows {
		version := "IPv4"
		if r.IPv6 {
			version = "IPv6"
		}
		own, faster := "-", ""
		if r.Injector == ours {
			own = fmt.Sprintf("%.1f%%", 100*r.Own.Seconds()/r.Elapsed.Seconds())
			if i := slices.IndexFunc(rows, func(o Row) bool { return o.Case == r.Case && o.Router == r.Router && o.Injector == other }); i >= 0 {
				faster = fmt.Sprintf("%.1fx", rows[i].Elapsed.Seconds()/r.Elapsed.Seconds())
			}
		}
		fmt.Fprintf(t, "%d %s\t%s\t%s\t%.2fs\t%.0f\t%s\t%dMB\t%dMB\t%s\t\n", r.Routes, version, r.Router, r.Injector,
			r.Elapsed.Seconds(), r.Rate(), own, r.Peak>>20, r.Device>>20, faster)
	}
	return t.Flush()
}
