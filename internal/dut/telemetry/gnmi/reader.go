package gnmi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// Reader reads one device.
type Reader struct {
	config     gnmiaccess.Config
	interfaces []string
	// client is nil until the first reading, and after one that failed; end ends it.
	client *gnmiaccess.Client
	end    context.CancelFunc
	// absent are the groups of values that the device does not have.
	absent map[string]bool
}

var _ telemetry.Reader = (*Reader)(nil)

// New returns a reader of a device's interfaces; none are all. It does not connect yet.
func New(c gnmiaccess.Config, interfaces []string) (*Reader, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &Reader{config: c, interfaces: interfaces}, nil
}

// counters are the leaves of an interface with frames that a device dropped or found damaged.
var counters = map[string]string{
	"in-discards": "input discards", "in-errors": "input errors", "out-discards": "output discards", "out-errors": "output errors",
}

// Read implements telemetry.Reader.
func (r *Reader) Read(ctx context.Context) (*telemetry.Reading, error) {
	out := &telemetry.Reading{}
	return out, r.ask(ctx, func() error {
		if err := r.readInterfaces(ctx, out); err != nil {
			return err
		}
		components, err := r.components(ctx)
		if err != nil {
			return err
		}
		for _, c := range components {
			c.sense(out)
		}
		return r.readSystem(ctx, out)
	})
}

// Facts implements telemetry.Reader.
func (r *Reader) Facts(ctx context.Context) (*telemetry.Facts, error) {
	out := &telemetry.Facts{}
	return out, r.ask(ctx, func() error {
		system, err := r.group(ctx, gnmiaccess.Path("system", "state"))
		if err != nil {
			return err
		}
		for _, l := range system {
			switch l.name() {
			case "hostname":
				out.Description = l.text()
			case "software-version":
				out.Software = l.text()
			case "boot-time":
				out.Up = upTime(l)
			}
		}
		components, err := r.components(ctx)
		if err != nil {
			return err
		}
		for _, c := range components {
			c.describe(out)
		}
		return nil
	})
}

// upTime returns the time since a device started, of which it reports when that was, in nanoseconds of Unix time.
func upTime(boot leaf) time.Duration {
	started, is := boot.number()
	if now := float64(time.Now().UnixNano()); is && started > 0 && started < now {
		return time.Duration(now - started)
	}
	return 0
}

// ask connects and calls f, which sends requests. After an error the next call connects anew.
func (r *Reader) ask(ctx context.Context, f func() error) error {
	if r.client == nil {
		lasting, end := context.WithCancel(context.WithoutCancel(ctx))
		stop := context.AfterFunc(ctx, end)
		client, err := r.config.Connect(lasting)
		if stop(); err != nil {
			end()
			return fmt.Errorf("reaching the device at %s: %w", r.config.Address, err)
		}
		r.client, r.end, r.absent = client, end, map[string]bool{}
	}
	if err := f(); err != nil {
		err = r.client.Explain(err)
		r.Close()
		return fmt.Errorf("reading the device at %s by gNMI: %w", r.config.Address, err)
	}
	return nil
}

// Close implements telemetry.Reader.
func (r *Reader) Close() {
	if r.client != nil {
		r.client.Close()
		r.end()
		r.client = nil
	}
}

// group returns the leaves below a path; none for a device that does not have it, which is not asked for it again.
func (r *Reader) group(ctx context.Context, path *gnmi.Path) ([]leaf, error) {
	name := gnmiaccess.Text(path)
	if r.absent[name] {
		return nil, nil
	}
	updates, err := r.client.Once(ctx, path)
	if slices.Contains([]codes.Code{codes.NotFound, codes.InvalidArgument, codes.Unimplemented}, status.Code(err)) {
		r.absent[name] = true
		return nil, nil
	}
	return leaves(updates), err
}

func (r *Reader) readInterfaces(ctx context.Context, out *telemetry.Reading) error {
	names := r.interfaces
	if len(names) == 0 {
		names = []string{"*"}
	}
	for _, name := range names {
		path := gnmiaccess.With(gnmiaccess.Path("interfaces", "interface"), "name", name)
		path.Elem = append(path.Elem, gnmiaccess.Path("state", "counters").Elem...)
		updates, err := r.client.Once(ctx, path)
		if slices.Contains([]codes.Code{codes.NotFound, codes.InvalidArgument}, status.Code(err)) {
			return noInterface(name)
		}
		if err != nil {
			return err
		}
		found := 0
		for _, l := range leaves(updates) {
			of := l.key("interface", "name")
			if what, counts := counters[l.name()]; counts && (name == "*" && of != "" || of == name) {
				n, _ := l.counter()
				out.Add(what+" of "+of, telemetry.Counter{Value: n, Bits: 64})
				found++
			}
		}
		if found == 0 {
			return noInterface(name)
		}
	}
	return nil
}

func noInterface(name string) error {
	if name == "*" {
		return errors.New("it has no interface with counters of OpenConfig")
	}
	return fmt.Errorf("it has no interface %q with counters of OpenConfig", name)
}

func (r *Reader) readSystem(ctx context.Context, out *telemetry.Reading) error {
	state, err := r.group(ctx, gnmiaccess.Path("system", "state"))
	if err != nil {
		return err
	}
	for _, l := range state {
		if l.name() == "boot-time" {
			out.Up = upTime(l)
		}
	}
	cpus := gnmiaccess.With(gnmiaccess.Path("system", "cpus", "cpu"), "index", "*")
	cpus.Elem = append(cpus.Elem, gnmiaccess.Path("state", "total", "instant").Elem...)
	loads, err := r.group(ctx, cpus)
	if err != nil {
		return err
	}
	for _, l := range loads {
		if v, is := l.number(); is && l.name() == "instant" {
			out.Sense("processor "+strings.ToLower(l.key("cpu", "index")), v, "%")
		}
	}
	memory, err := r.group(ctx, gnmiaccess.Path("system", "memory"))
	if err != nil {
		return err
	}
	bytes := map[string]float64{}
	for _, l := range memory {
		if v, is := l.number(); is {
			bytes[l.name()] = v
		}
	}
	if total := bytes["physical"]; total > 0 && bytes["used"] > 0 {
		out.Sense("memory", 100*bytes["used"]/total, "%")
	}
	return nil
}
