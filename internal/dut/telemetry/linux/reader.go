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

// Questions to a device. Each program costs the device two milliseconds or more, so that few are started: none for Open vSwitch and
// labels unless the device has them, and none for the files of /proc if they are short. A shell may read files byte by
// byte, so that a program is faster for long ones.
const (
	shortQuestion = "nodrop_short"
	longQuestion  = "nodrop_long"
	factsQuestion = "nodrop_facts"
	// longFiles is the number of bytes of files from which a program reads them.
	longFiles = 4096
)

// functions are the answers of a device. Programs and files that it does not have are left out.
var functions = function(shortQuestion, shortFiles, counters) +
	function(longQuestion, "grep -hE '^([0-9]|cpu|Mem| *[^ :]+: *[0-9]+ +[0-9])' /proc/uptime /proc/stat /proc/meminfo /proc/net/dev", counters) +
	function("nodrop_counters",
		"tc -s -j qdisc show", "nft list ruleset",
		`[ -S "${OVS_RUNDIR:-/var/run/openvswitch}/db.sock" ] && for b in $(ovs-vsctl list-br); do echo "bridge $b"; ovs-ofctl -O OpenFlow13 dump-flows "$b"; ovs-ofctl -O OpenFlow13 dump-tables "$b"; done`,
		`for f in /sys/class/hwmon/hwmon*/temp*_input; do [ -r "$f" ] && read -r name < "${f%/*}/name" && read -r value < "$f" && echo "$name ${f##*/} $value"; done`,
		"[ -d /proc/sys/net/mpls ] && ip -j stats show group afstats",
	) +
	function(factsQuestion,
		"cat /proc/uptime", "uname -sr", "grep ^PRETTY_NAME= /etc/os-release", "cat /sys/class/dmi/id/product_name", "cat /sys/class/dmi/id/product_serial", "uname -a",
	)

const (
	counters = "nodrop_counters"
	// shortFiles prints what the program prints, without a program: the lines with processors are the first ones of their file, and so are
	// the needed ones of memory.
	shortFiles = `[ -r /proc/net/dev ] && {
read -r l < /proc/uptime && echo "$l"
while read -r l; do case $l in cpu*) echo "$l" ;; *) break ;; esac; done < /proc/stat
while read -r l; do case $l in Mem*) echo "$l" ;; *) break ;; esac; done < /proc/meminfo
while read -r l; do case $l in *:*) printf '%s\n' "$l" ;; esac; done < /proc/net/dev
}`
)

// function defines a function of a shell that prints the parts of an answer.
func function(name string, parts ...string) string {
	return name + "() {\n" + strings.Join(parts, "\necho "+end+"\n") + "\n}\n"
}

// Reader reads one device.
type Reader struct {
	access     sshaccess.Config
	interfaces []string
	// client and shell are nil until the first reading, and after one that failed; close ends the connection.
	client *ssh.Client
	shell  *shell
	close  func()
	// long reports whether the files of the last reading were long.
	long bool
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
	question := shortQuestion
	if r.long {
		question = longQuestion
	}
	text, err := r.ask(ctx, question)
	if err != nil {
		return nil, err
	}
	r.long = strings.Index(text, end) >= longFiles
	reading, err := r.parse(text)
	if err != nil {
		r.Close() // Another shell may answer better.
		return nil, err
	}
	return reading, nil
}

// Facts implements telemetry.Reader.
func (r *Reader) Facts(ctx context.Context) (*telemetry.Facts, error) {
	text, err := r.ask(ctx, factsQuestion)
	if err != nil {
		return nil, err
	}
	facts, err := parseFacts(text)
	if err != nil {
		r.Close()
		return nil, err
	}
	return facts, nil
}

// ask returns the answer of the device to a question. It connects if there is no connection, and after an error the next call connects anew.
func (r *Reader) ask(ctx context.Context, question string) (string, error) {
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
	text, err := r.answer(question)
	if err != nil {
		r.Close()
		return "", fmt.Errorf("reading the device at %s by SSH: %w", r.access.Address, cmp.Or(ctx.Err(), err))
	}
	return text, nil
}

// answer asks the shell, and starts it if there is none.
func (r *Reader) answer(question string) (_ string, err error) {
	if r.shell == nil {
		if r.shell, err = startShell(r.client, functions); err != nil {
			return "", err
		}
	}
	return r.shell.ask(question)
}

// Close implements telemetry.Reader.
func (r *Reader) Close() {
	if r.client != nil {
		r.close()
		r.client, r.shell = nil, nil
	}
}
