package fakenos

import (
	"bytes"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// Access returns how the server of the device is reached.
func (d *Device) Access() sshaccess.Config {
	return sshaccess.Config{Address: d.Address, User: sshrouter.User, Password: sshrouter.Password, HostKeys: d.HostKey}
}

// Enter enters lines in a session of its own, whose connection is lost after the answer to the last one, and returns what the device
// printed.
func (d *Device) Enter(lines []string) string {
	d.t.Helper()
	access := d.Access()
	client, err := access.Connect(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	if err != nil {
		d.t.Fatal(err)
	}
	var out bytes.Buffer
	// The end of the input ends the session, after the lines before it.
	session.Stdin, session.Stdout = strings.NewReader(strings.Join(lines, "\n")+"\n"), &out
	if err := session.Shell(); err != nil {
		d.t.Fatal(err)
	}
	_ = session.Wait() // The server has no exit status.
	return out.String()
}
