package sshrouter

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// NETCONF is Debian's NETCONF server netconfd behind OpenSSH, with the YANG modules of interfaces and their addresses, and without
// an interface behind them.
type NETCONF struct {
	device
	root string
}

// StartNETCONF starts such a device with an empty configuration, until the test ends. It skips the test without
// the rights for that.
func StartNETCONF(t testing.TB) *NETCONF {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may start an OpenSSH server with a user of its own")
	}
	const program = "/usr/sbin/netconfd"
	server := testserver.Binary(t, "netconfd"+program, "NETCONF server", "hack/netconf/build")
	n := &NETCONF{device: device{t: t, folder: t.TempDir()}, root: strings.TrimSuffix(server, program)}
	// It writes where its user is at home, and must not have a terminal or file as its output.
	n.start("netconfd", "env", "HOME="+n.folder, "YUMA_MODPATH="+n.root+"/usr/share/yuma/modules", n.libraries(),
		"sh", "-c", "mkdir -p $HOME/.yuma && cd $HOME && exec "+server+" --no-startup --access-control=off --superuser="+User+
			" --module=iana-if-type --module=ietf-interfaces --module=ietf-ip --ncxserver-sockname="+n.socket()+" --log=$HOME/log >&-")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(n.socket()); err == nil {
			break
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(n.folder, "log"))
			t.Fatalf("netconfd does not answer: %s", log)
		}
	}
	n.serve("127.0.0.1", n.subsystem())
	return n
}

func (n *NETCONF) socket() string { return filepath.Join(n.folder, "socket") }

// libraries is the variable by which the programs find their libraries.
func (n *NETCONF) libraries() string {
	folders, _ := filepath.Glob(filepath.Join(n.root, "usr/lib/*-linux-gnu"))
	return "LD_LIBRARY_PATH=" + strings.Join(folders, ":")
}

// subsystem is the command of the subsystem. The server wants it to be at the port of NETCONF.
func (n *NETCONF) subsystem() string {
	return fmt.Sprintf("SSH_CONNECTION='127.0.0.1 1 127.0.0.1 830' USER=%[1]s LOGNAME=%[1]s %[2]s exec %[3]s/usr/sbin/netconf-subsystem --ncxserver-sockname=830@%[4]s",
		User, n.libraries(), n.root, n.socket())
}

// Running is the configuration as the server returns it, not through SSH. A server that reads a request together with the
// message before answers it in no session, so that another one asks again.
func (n *NETCONF) Running() string {
	n.t.Helper()
	text := ""
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		text = n.ask(`<get-config><source><running/></source></get-config>`)
		if _, rest, found := strings.Cut(text, "<data>"); found {
			data, _, _ := strings.Cut(rest, "</data>")
			return data
		}
		if strings.Contains(text, "<data/>") {
			return ""
		}
	}
	n.t.Fatalf("netconfd: %s", text)
	return ""
}

// ask returns what the server says in a session with one request, within two seconds.
func (n *NETCONF) ask(operation string) string {
	n.t.Helper()
	cmd := exec.Command("sh", "-c", n.subsystem())
	in, err := cmd.StdinPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	reader, text := bufio.NewReader(out), ""
	for _, message := range []string{
		`<hello xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability></capabilities></hello>`,
		`<rpc xmlns="urn:ietf:params:xml:ns:netconf:base:1.0" message-id="1">` + operation + `</rpc>`,
	} {
		_, _ = io.WriteString(in, message+endOfMessage)
		text += untilEnd(reader)
	}
	_ = in.Close()
	_ = cmd.Wait()
	return text
}

// endOfMessage ends a message of NETCONF 1.0.
const endOfMessage = "]]>]]>"

// untilEnd reads one message, or what there is of it.
func untilEnd(r *bufio.Reader) string {
	text := ""
	for !strings.HasSuffix(text, endOfMessage) {
		part, err := r.ReadString('>')
		text += part
		if err != nil {
			break
		}
	}
	return text
}
