package labpage

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// findChromium finds a browser, or skips the test.
func findChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium for this test: install the Debian package chromium-headless-shell")
	return ""
}

// tab is a tab of a browser, which notes what goes wrong.
type chromeTab struct {
	context.Context
	mu       sync.Mutex
	problems []string
	asked    []string
	// bases are the addresses of further servers that may be asked.
	bases []string
}

// browserPatience bounds the time of a test in a browser.
const browserPatience = 10 * time.Minute

// openBrowser starts Chromium.
func openBrowser(t *testing.T) *chromeTab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(findChromium(t)), chromedp.NoSandbox, chromedp.Flag("force-device-scale-factor", "1"),
		// Debian's program starts the browser as a child: the whole group is ended.
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		}))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, browserPatience)
	t.Cleanup(cancel)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil { // It waits for the end of the browser.
			t.Errorf("ending Chromium: %v", err)
		}
	})
	b := &chromeTab{Context: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			for _, said := range e.Args {
				b.problems = append(b.problems, "console: "+string(said.Value)+said.Description)
			}
		case *log.EventEntryAdded:
			b.problems = append(b.problems, e.Entry.Text+" "+e.Entry.URL)
		case *network.EventRequestWillBeSent:
			b.asked = append(b.asked, e.Request.URL)
		}
	})
	b.do(t, runtime.Enable(), log.Enable(), network.Enable(), accessibility.Enable())
	return b
}

func (b *chromeTab) do(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(b, actions...); err != nil {
		t.Fatal(err)
	}
}

// size sets the window size and the color scheme.
func (b *chromeTab) size(t *testing.T, width int64, scheme string) {
	t.Helper()
	b.do(t, emulation.SetDeviceMetricsOverride(width, 900, 1, width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// picture takes one of the whole page.
func (b *chromeTab) picture(t *testing.T, file string) {
	t.Helper()
	var png []byte
	b.do(t, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		_, _, _, _, _, content, err := page.GetLayoutMetrics().Do(ctx)
		if err != nil {
			return err
		}
		png, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).WithClip(&page.Viewport{Width: content.Width, Height: min(content.Height, 3000), Scale: 1}).Do(ctx)
		return err
	}))
	if err := os.WriteFile(file, smaller(t, png), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestBrowser opens every page in Chromium, on a phone and a desk, light and dark: no error,
// no request to outside, nothing wider than the window, and a tree that a screen reader can
// use.
func TestBrowser(t *testing.T) {
	server := serveDemo(t)
	b := openBrowser(t)
	for _, width := range []int64{380, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.size(t, width, scheme)
			for _, path := range demoPages {
				var wide int64
				b.do(t, chromedp.Navigate(server.URL+path), chromedp.WaitReady("main"),
					chromedp.Evaluate("document.documentElement.scrollWidth", &wide))
				if wide > width {
					t.Errorf("%s is %d pixels wide in a window of %d", path, wide, width)
				}
				var faint []string
				b.do(t, chromedp.Evaluate(faintTexts, &faint))
				for _, text := range faint {
					t.Errorf("%s, %s: too little contrast: %s", path, scheme, text)
				}
			}
		}
	}
	b.checkTree(t, server.URL)
	b.checkPrint(t, server.URL)
	b.checkWall(t)
	b.checkUpdate(t, server.URL)
	b.checkKeys(t, server.URL)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		t.Errorf("Chromium says: %s", problem)
	}
	for _, url := range b.asked {
		if !slices.ContainsFunc(append(b.bases, server.URL+"/"), func(base string) bool { return strings.HasPrefix(url, base) }) {
			t.Errorf("request to %s", url)
		}
	}
}

// faintTexts are texts whose contrast is below 4.5:1 (WCAG 2.2, 1.4.3).
const faintTexts = `(() => {
  const numbers = (c) => (c.match(/[0-9.]+/g) || []).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const back = (e) => {
    for (; e; e = e.parentElement) {
      const c = numbers(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const found = new Set();
  const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || e.closest("svg, .axis") || !e.checkVisibility()) continue;
    const [a, b] = [light(numbers(getComputedStyle(e).color)), light(back(e))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.add(e.localName + "." + e.className + " " + contrast.toFixed(2) + ": " + walk.currentNode.data.trim().slice(0, 40));
  }
  return [...found];
})()`

// checkKeys checks that the first key leads past the navigation.
func (b *chromeTab) checkKeys(t *testing.T, base string) {
	t.Helper()
	var first, second string
	b.do(t, chromedp.Navigate(base+"/"), chromedp.WaitReady("main"), chromedp.KeyEvent(kb.Tab),
		chromedp.Evaluate("document.activeElement.className", &first), chromedp.KeyEvent(kb.Enter),
		chromedp.Evaluate("document.activeElement.id", &second))
	if first != "skip" || second != "main" {
		t.Errorf("Tab leads to %q, and Enter from there to %q", first, second)
	}
}

// serveDemo serves the demo, or another lab, to one person.
func serveDemo(t *testing.T, lab ...client.Object) *httptest.Server {
	t.Helper()
	p := demo(t, lab...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer anna@example.com")
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestPictures draws the pictures of docs/lab-page.md into the directory NODROP_PICTURES;
// with NODROP_ALL_PICTURES every page in every form.
func TestPictures(t *testing.T) {
	dir := os.Getenv("NODROP_PICTURES")
	if dir == "" {
		t.Skip("make page-pictures draws pictures")
	}
	server, b := serveDemo(t), openBrowser(t)
	draw := func(path, file, scheme string, width int64) {
		b.size(t, width, scheme)
		if path == "/wall" && width > 600 {
			b.do(t, emulation.SetDeviceMetricsOverride(1920, 1080, 1, false))
		}
		b.do(t, chromedp.Navigate(server.URL+path), chromedp.WaitReady("main"))
		b.picture(t, filepath.Join(dir, file+".png"))
	}
	if os.Getenv("NODROP_ALL_PICTURES") == "" {
		for name, path := range docsPages {
			for _, scheme := range []string{"light", "dark"} {
				draw(path, "page-"+name+"-"+scheme, scheme, 1280)
			}
		}
		return
	}
	for name, path := range demoPages {
		for _, scheme := range []string{"light", "dark"} {
			draw(path, name+"-380-"+scheme, scheme, 380)
			draw(path, name+"-1280-"+scheme, scheme, 1280)
		}
	}
}

// checkPrint checks that a printed page is black on white, without anything to operate, and not wider than the paper.
func (b *chromeTab) checkPrint(t *testing.T, base string) {
	t.Helper()
	const paper = 1032 // A4 across, without margins.
	for _, path := range []string{"/table", "/", "/timeline", "/benchmarks?view=waiting"} {
		var controls []string
		var paint string
		var wide int64
		b.do(t, emulation.SetDeviceMetricsOverride(paper, 700, 1, false), chromedp.Navigate(base+path), chromedp.WaitReady("main"),
			emulation.SetEmulatedMedia().WithMedia("print").WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}),
			chromedp.Evaluate(`[...document.querySelectorAll("nav, form, button, .skip")].filter((e) => e.checkVisibility()).map((e) => e.outerHTML.slice(0, 60))`, &controls),
			chromedp.Evaluate(`getComputedStyle(document.body).color + " on " + getComputedStyle(document.body).backgroundColor`, &paint),
			chromedp.Evaluate("document.documentElement.scrollWidth", &wide))
		if paint != "rgb(27, 32, 38) on rgb(255, 255, 255)" || len(controls) > 0 || wide > paper {
			t.Errorf("printed, %s is %s, %d pixels wide on paper of %d, and has %q", path, paint, wide, paper, controls)
		}
		if dir := os.Getenv("NODROP_PICTURES"); dir != "" && path == "/table" {
			b.picture(t, filepath.Join(dir, "table-printed.png"))
		}
	}
	b.do(t, emulation.SetEmulatedMedia().WithMedia(""))
}

// checkWall checks that the wall fits a large screen when all of its lists are full.
func (b *chromeTab) checkWall(t *testing.T) {
	t.Helper()
	lab := demoLab()
	for i := range 40 {
		name := fmt.Sprintf("a-bed-with-a-long-name-%02d", i)
		lab = append(lab, bed(name, func(b *v1alpha1.TestBed) {
			b.Status.Conditions[0].Status, b.Status.Conditions[0].Message = metav1.ConditionFalse, strings.Repeat("a long reason ", 20)
		}), benchmark("team-routing", "a-benchmark-with-a-long-name-"+name, v1alpha1.PhaseRunning, running(name)),
			benchmark("team-routing", "another-benchmark-with-a-long-name-"+name, v1alpha1.PhaseInconclusive, func(b *v1alpha1.Benchmark) {
				began, ended := at(-50), at(-40)
				b.Status.TestBedName, b.Status.StartTime, b.Status.CompletionTime = name, &began, &ended
			}))
	}
	server := serveDemo(t, lab...)
	b.bases = append(b.bases, server.URL+"/")
	for _, screen := range [][2]int64{{1920, 1080}, {3840, 2160}, {1280, 720}} {
		var high, wide int64
		b.do(t, emulation.SetDeviceMetricsOverride(screen[0], screen[1], 1, false), chromedp.Navigate(server.URL+"/wall"), chromedp.WaitReady("main"),
			chromedp.Evaluate("document.documentElement.scrollHeight", &high), chromedp.Evaluate("document.documentElement.scrollWidth", &wide))
		if wide > screen[0] || high > screen[1] {
			t.Errorf("on a screen of %d by %d pixels the wall has %d by %d", screen[0], screen[1], wide, high)
		}
		if dir := os.Getenv("NODROP_PICTURES"); dir != "" {
			b.picture(t, filepath.Join(dir, fmt.Sprintf("wall-full-%d.png", screen[0])))
		}
	}
}

// checkTree checks what a screen reader is given of two pages.
func (b *chromeTab) checkTree(t *testing.T, base string) {
	t.Helper()
	for path, want := range map[string][]string{
		"/":                                     {"banner", "navigation Lab", "main", "contentinfo", "heading Beds", "search Filter", "table Beds with state, holder, next free time, queue, use, calibration and next reservation", "columnheader Used by", "columnheader Next free (UTC)", "columnheader Use, 7 days", "columnheader Calibrated", "heading Not passed in the last 24 hours", "link Table to print", "link Wall", "rowheader access-1", "link access-1", "cell In use", "progressbar Progress of nightly-0412", "link Skip to the content"},
		"/timeline":                             {"navigation Length of the timeline", "image team-routing/nightly-0412 has it since 11:30, until about 12:25", "list Legend", "rowheader access-1"},
		"/table":                                {"heading Table of beds", "table All beds with device, tester, labels, health, calibration, use and next free time", "columnheader Health", "cell healthy", "rowheader access-1"},
		"/teams":                                {"heading Teams", "table Teams with their use of beds", "columnheader Share", "rowheader team-routing"},
		"/wall":                                 {"main", "heading Lab", "heading Not passed in the last 24 hours", "heading Beds that need a person", "heading Running", "progressbar Progress of nightly-0412"},
		"/benchmarks/team-routing/nightly-0412": {"figure", "image 4 finished trials of the row in hand; the highest load that passed is 50%; the lowest load that did not pass is 75%", "list Legend of the search"},
		"/beds/access-1":                        {"heading Use in the last 7 days", "table Hours for which the benchmarks of each team had the bed", "rowheader other teams"},
	} {
		var nodes []*accessibility.Node
		b.do(t, chromedp.Navigate(base+path), chromedp.WaitReady("main"), chromedp.ActionFunc(func(ctx context.Context) (err error) {
			nodes, err = accessibility.GetFullAXTree().Do(ctx)
			return err
		}))
		var tree []string
		for _, n := range nodes {
			if n.Ignored || n.Role == nil {
				continue
			}
			name := ""
			if n.Name != nil {
				name = strings.Trim(string(n.Name.Value), `"`)
			}
			tree = append(tree, strings.TrimSpace(strings.Trim(string(n.Role.Value), `"`)+" "+name))
		}
		for _, part := range want {
			if !slices.ContainsFunc(tree, func(line string) bool { return strings.HasPrefix(line, part) }) {
				t.Errorf("a screen reader is not given %q on %s; it has\n%s", part, path, strings.Join(tree, "\n"))
			}
		}
	}
}

// checkUpdate checks that the script shows what changed, and that the focus stays.
func (b *chromeTab) checkUpdate(t *testing.T, base string) {
	t.Helper()
	var before, after, focus string
	b.do(t, chromedp.Navigate(base+"/benchmarks"), chromedp.WaitVisible("#pause"),
		chromedp.Evaluate(`document.querySelector("tbody a").focus(); document.querySelector("tbody").textContent`, &before),
		// What the page was made of is another one, so that it is replaced.
		chromedp.Evaluate(`document.querySelector("tbody").textContent = ""; document.querySelector("tbody").innerHTML = '<tr><td><a href="/x">old</a></td></tr>'; document.querySelector("#pause").click(); document.querySelector("#pause").focus(); "x"`, &after),
		chromedp.Click("#pause"), chromedp.WaitVisible("tbody progress"),
		chromedp.Evaluate(`document.querySelector("tbody").textContent`, &after),
		chromedp.Evaluate(`document.activeElement.id`, &focus))
	if before != after || focus != "pause" {
		t.Errorf("after an update there is %q, and the focus is on %q", after, focus)
	}
}
