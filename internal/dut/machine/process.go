//go:build linux

package machine

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const (
	// program emulates machines.
	program = "qemu-system-x86_64"
	// bootWithin is the longest time of a start. An emulated machine sometimes loses its timer while it boots on a busy computer,
	// and hangs: it is then started again.
	bootWithin = 3 * time.Minute
	// emulatedStarts is the number of starts with emulated processors.
	emulatedStarts = 3

	kvm = "kvm"
	tcg = "tcg"
)

//go:embed guest.sh
var guest string

// process is a running QEMU.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	// lines has the messages of the machine to the driver.
	lines chan string
	// ended is closed when the process has ended.
	ended chan struct{}
	// console and errors are files with what the kernel and QEMU print.
	console, errors string
}

// errFailed is wrapped by an error that another start cannot cure.
var errFailed = errors.New("the machine is no device")

// start starts the machine until it is ready, again if it hangs.
func (m *Machine) start(ctx context.Context, files *files) error {
	accelerators := make([]string, 0, emulatedStarts+1)
	if acceleration().usable {
		accelerators = append(accelerators, kvm)
	}
	for range emulatedStarts {
		accelerators = append(accelerators, tcg)
	}
	var errs []error
	for i, accelerator := range accelerators {
		m.accelerator = accelerator
		err := m.startOnce(ctx, files)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("start %d of %d: %w", i+1, len(accelerators), err))
		if ctx.Err() != nil || errors.Is(err, errFailed) || errors.Is(err, errStarting) {
			return err
		}
	}
	return errors.Join(errs...)
}

// errStarting is wrapped by the error of a QEMU that did not begin.
var errStarting = errors.New("QEMU did not start")

// startOnce starts QEMU, and waits until the machine is ready.
func (m *Machine) startOnce(ctx context.Context, files *files) error {
	share := m.share()
	if err := errors.Join(os.RemoveAll(share), os.Mkdir(share, 0o700)); err != nil {
		return err
	}
	for name, content := range m.config.Files {
		if err := os.WriteFile(filepath.Join(share, name), content, 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(share, "guest"), []byte(m.guest()), 0o600); err != nil {
		return err
	}
	p, err := launch(m.tester, m.folder.Path, m.arguments(files))
	if err != nil {
		return fmt.Errorf("%w: %w", errStarting, err)
	}
	if err := p.ready(ctx, m.boot); err != nil {
		return errors.Join(err, p.stop())
	}
	m.process = p
	return nil
}

// guest is the script that the machine begins with.
func (m *Machine) guest() string {
	var load, names, addresses strings.Builder
	for _, module := range m.config.Modules {
		load.WriteString(Quote(module) + " ")
	}
	for i, card := range m.config.Interfaces {
		names.WriteString(Quote(card.Name) + " ")
		addresses.WriteString(hardwareAddress(i) + " ")
	}
	return fmt.Sprintf("load=(%s) names=(%s) addresses=(%s) cards=()\n%s", load.String(), names.String(), addresses.String(), guest)
}

// hardwareAddress is the address of a card.
func hardwareAddress(i int) string { return fmt.Sprintf("52:54:00:00:01:%02x", i) }

// Quote returns a word for a shell.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// arguments returns the arguments of QEMU.
func (m *Machine) arguments(files *files) []string {
	accelerator, processor := "tcg,thread=multi", "max"
	if m.accelerator == kvm {
		accelerator, processor = "kvm", "host"
	}
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none", "-no-reboot",
		"-machine", "q35", "-accel", accelerator, "-cpu", processor,
		"-smp", fmt.Sprint(m.config.Processors), "-m", fmt.Sprint(m.config.Memory >> 20),
		"-kernel", files.kernel, "-initrd", files.image, "-append", "console=ttyS0 quiet panic=-1 no_timer_check",
		"-pidfile", filepath.Join(m.folder.Path, "qemu.pid"),
		"-serial", "file:" + filepath.Join(m.folder.Path, "console"), "-serial", "stdio",
	}
	for _, shared := range []struct{ tag, options string }{
		{"host", "path=/,readonly=on,multidevs=remap"}, {"modules", "path=" + files.modules + ",readonly=on"}, {"vm", "path=" + m.share()},
	} {
		args = append(args, "-fsdev", fmt.Sprintf("local,id=%s,security_model=none,%s", shared.tag, shared.options),
			"-device", fmt.Sprintf("virtio-9p-pci,fsdev=%[1]s,mount_tag=%[1]s", shared.tag))
	}
	for i, card := range m.config.Interfaces {
		args = append(args, "-netdev", fmt.Sprintf("tap,id=n%d,ifname=%s,script=no,downscript=no", i, card.TAP),
			"-device", fmt.Sprintf("virtio-net-pci,netdev=n%d,mac=%s,romfile=,rx_queue_size=1024,tx_queue_size=256", i, hardwareAddress(i)))
	}
	return args
}

// launch starts QEMU in a network namespace, on a thread that lives as long as it, since the kernel sends the signal of Pdeathsig
// when the thread ends.
func launch(ns netns.NsHandle, folder string, args []string) (*process, error) {
	p := &process{lines: make(chan string, 16), ended: make(chan struct{}), console: filepath.Join(folder, "console"), errors: filepath.Join(folder, "errors")}
	log, err := os.Create(p.errors)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir, p.cmd.Stderr = folder, log
	// In a process group of its own, an interrupt from the terminal does not reach it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // The thread ends with its goroutine, as it has moved.
		err := netns.Set(ns)
		if err == nil {
			err = p.cmd.Start()
		}
		if started <- err; err == nil {
			p.read(out)
			_ = p.cmd.Wait()
			close(p.ended)
		}
	}()
	return p, <-started
}

// read passes lines of the machine on until it has ended.
func (p *process) read(out io.Reader) {
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		select {
		case p.lines <- strings.TrimSpace(scanner.Text()):
		default: // The driver waits for none.
		}
	}
}

// ready waits until the machine is ready.
func (p *process) ready(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("the machine was not ready after %s", within))
	defer cancel()
	for {
		line, err := p.line(ctx)
		if err != nil {
			return err
		}
		if line == "ready" {
			return nil
		}
		if why, failed := strings.CutPrefix(line, "failed "); failed {
			return fmt.Errorf("%w: %s", errFailed, why)
		}
	}
}

// ask has the machine run a script, and returns its exit code.
func (p *process) ask(ctx context.Context, number int, how string) (code int, err error) {
	if _, err := fmt.Fprintf(p.in, "%d %s\n", number, how); err != nil {
		select {
		case <-p.ended:
			return 0, p.end()
		case <-time.After(goneWithin):
			return 0, fmt.Errorf("writing to the machine: %w", err)
		}
	}
	for {
		line, err := p.line(ctx)
		if err != nil {
			return 0, err
		}
		var of int
		if n, _ := fmt.Sscanf(line, "%d %d", &of, &code); n == 2 && of == number {
			return code, nil
		}
	}
}

// line returns the next line of the machine.
func (p *process) line(ctx context.Context) (string, error) {
	select {
	case line := <-p.lines:
		return line, nil
	default:
	}
	select {
	case line := <-p.lines:
		return line, nil
	case <-p.ended:
		return "", p.end()
	case <-ctx.Done():
		return "", fmt.Errorf("%w%s", context.Cause(ctx), p.printed())
	}
}

// end describes a machine that has ended.
func (p *process) end() error {
	return fmt.Errorf("the machine ended (%v)%s", p.cmd.ProcessState, p.printed())
}

// printed returns the end of what QEMU and the kernel printed.
func (p *process) printed() string {
	errs, _ := os.ReadFile(p.errors)
	console, _ := os.ReadFile(p.console)
	text := lastLines(string(errs))
	if kernel := lastLines(fromPanic(string(console))); kernel != "" {
		text += "\nthe end of its console:" + kernel
	}
	return text
}

// fromPanic returns a console from the reason why the kernel ended, without the trace that follows; the whole console if it has none.
func fromPanic(console string) string {
	if i := strings.Index(console, "Kernel panic"); i >= 0 {
		line, _, _ := strings.Cut(console[i:], "\n")
		return line
	}
	return console
}

// stop ends QEMU.
func (p *process) stop() error {
	_ = p.cmd.Process.Kill()
	select {
	case <-p.ended:
		return nil
	case <-time.After(goneWithin):
		return fmt.Errorf("QEMU, process %d, did not end within %s", p.cmd.Process.Pid, goneWithin)
	}
}
