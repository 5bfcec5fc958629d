package fakenos

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"embed"
	"encoding/json"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/testkit/sshrouter"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

//go:embed nos
var nos embed.FS

// Device is a command line that is reached through the SSH server of fakenos, as sshrouter.User.
type Device struct {
	// Address of the server, and its host key as a line of a .pub file.
	Address string
	HostKey []byte

	t      testing.TB
	folder string
}

// Start starts a device until the test ends. Its name is the one of a file in the folder nos.
func Start(t testing.TB, name string) *Device {
	t.Helper()
	const program = "/fakenos/plugins/utils/cli.py"
	library := testserver.Binary(t, "fakenos/lib"+program, "fakenos", "hack/fakenos/build")
	library = library[:len(library)-len(program)]
	d := &Device{Address: testserver.FreeAddress(t), t: t, folder: t.TempDir()}
	if err := os.CopyFS(d.folder, nos); err != nil {
		t.Fatal(err)
	}
	d.makeKey()
	host, port, _ := net.SplitHostPort(d.Address)
	number, _ := strconv.Atoi(port)
	inventory, err := json.Marshal(map[string]any{"hosts": map[string]any{"dut": map[string]any{ // YAML contains JSON.
		"username": sshrouter.User, "password": sshrouter.Password, "port": number,
		"nos":    map[string]any{"plugin": filepath.Join(d.folder, "nos", name+".py")},
		"server": map[string]any{"plugin": "ParamikoSshServer", "configuration": map[string]any{"address": host, "ssh_key_file": d.file("key")}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.file("inventory.yaml"), inventory, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-m", "fakenos.plugins.utils.cli", "--inventory", d.file("inventory.yaml"), "--log-level", "WARNING")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+library+":"+d.file("nos"), "NODROP_RUNNING="+d.file("running"))
	d.start(cmd)
	return d
}

func (d *Device) file(name string) string { return filepath.Join(d.folder, name) }

// makeKey makes the host key: the server reads RSA keys only.
func (d *Device) makeKey() {
	d.t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		d.t.Fatal(err)
	}
	public, err := ssh.NewPublicKey(&private.PublicKey)
	if err != nil {
		d.t.Fatal(err)
	}
	d.HostKey = ssh.MarshalAuthorizedKey(public)
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}
	if err := os.WriteFile(d.file("key"), pem.EncodeToMemory(block), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// start starts the server, and waits until it accepts connections.
func (d *Device) start(cmd *exec.Cmd) {
	d.t.Helper()
	log, err := os.Create(d.file("log"))
	if err != nil {
		d.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	ended, err := testserver.Launch(cmd)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = log.Close()
		if d.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			d.t.Logf("fakenos: %s", text[max(0, len(text)-4096):])
		}
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", d.Address)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ended:
			d.t.Fatal("fakenos has ended")
		default:
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("fakenos does not answer: %v", err)
		}
	}
}

// Running is the configuration as the functions of the device keep it, not through SSH.
func (d *Device) Running() string {
	d.t.Helper()
	text, err := os.ReadFile(d.file("running"))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}
