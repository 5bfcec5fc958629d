package linux

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// end separates the parts of what the device prints.
const end = "--nodrop--"

// command prints what is read, and factsCommand what the device is. Programs and files that a device does not have are left out. Each program
// costs the device two milliseconds or more, so that few are started: none for Open vSwitch and labels unless the device has them.
var (
	command = separated(
		"grep -hE '^([0-9]|cpu|Mem| *[^ :]+: *[0-9]+ +[0-9])' /proc/uptime /proc/stat /proc/meminfo /proc/net/dev", "tc -s -j qdisc show", "nft list ruleset",
		`[ -S "${OVS_RUNDIR:-/var/run/openvswitch}/db.sock" ] && for b in $(ovs-vsctl list-br); do echo "bridge $b"; ovs-ofctl -O OpenFlow13 dump-flows "$b"; ovs-ofctl -O OpenFlow13 dump-tables "$b"; done`,
		`for f in /sys/class/hwmon/hwmon*/temp*_input; do [ -r "$f" ] && read -r name < "${f%/*}/name" && read -r value < "$f" && echo "$name ${f##*/} $value"; done`,
		"[ -d /proc/sys/net/mpls ] && ip -j stats show group afstats",
	)
	factsCommand = separated(
		"cat /proc/uptime", "uname -sr", "grep ^PRETTY_NAME= /etc/os-release", "cat /sys/class/dmi/id/product_name", "cat /sys/class/dmi/id/product_serial", "uname -a",
	)
)

func separated(commands ...string) string {
	return strings.Join(commands, " 2>/dev/null; echo "+end+"; ") + " 2>/dev/null; true"
}

// Reader reads one device.
type Reader struct {
	access     sshaccess.Config
	interfaces []string
	// client is nil until the first reading, and after one that failed; close ends it.
	client *ssh.Client
	close  func()
	// busy has what the processors have spent by the last reading.
	busy map[string]spent
}

var _ telemetry.Reader = (*Reader)(nil)

// New returns a reader of the counters of some interfaces, or of all. It does not connect yet.
func New(access sshaccess.Config, interfaces []string) (*Reader, error) {
	if err := access.Check(); err != nil {
		return nil, err
	}
	return &Reader{access: access, interfaces: interfaces}, nil
}

// Read implements telemetry.Reader.
func (r *Reader) Read(ctx context.Context) (*telemetry.Reading, error) {
	text, err := r.print(ctx, command)
	if err != nil {
		return nil, err
	}
	return r.parse(text)
}

// Facts implements telemetry.Reader.
func (r *Reader) Facts(ctx context.Context) (*telemetry.Facts, error) {
	text, err := r.print(ctx, factsCommand)
	if err != nil {
		return nil, err
	}
	return parseFacts(text)
}

// print connects and returns what a command prints. After an error the next call connects anew.
func (r *Reader) print(ctx context.Context, command string) (string, error) {
	if r.client == nil {
		lives, cancel := context.WithCancel(context.WithoutCancel(ctx))
		late := context.AfterFunc(ctx, cancel)
		client, err := r.access.Connect(lives)
		late()
		if err != nil {
			cancel()
			return "", err
		}
		r.client, r.close = client, func() {
			_ = client.Close()
			cancel()
		}
	}
	defer context.AfterFunc(ctx, r.close)()
	text, _, err := sshaccess.Run(r.client, command, "")
	if err != nil {
		r.Close()
		return "", fmt.Errorf("reading the device at %s by SSH: %w", r.access.Address, cmp.Or(ctx.Err(), err))
	}
	return text, nil
}

// Close implements telemetry.Reader.
func (r *Reader) Close() {
	if r.client != nil {
		r.close()
		r.client = nil
	}
}
