package bgpbench

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/router"
)

// injector makes the test binary an injector.
const injector = "NODROP_BGP_BENCH_INJECTOR"

func TestMain(m *testing.M) {
	if os.Getenv(injector) == "" {
		os.Exit(m.Run())
	}
	if err := Inject(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestBothInjectorsThroughBothRouters(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	t.Setenv(injector, "1")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Run(t.Context(), Options{Cases: []Case{{Routes: 2500}, {1500, true}}, Routers: []string{router.FRR, router.BIRD}, Program: program, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 8 {
		t.Errorf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.Elapsed <= 0 || r.Peak == 0 || r.Device == 0 || (r.Injector == ours) != (r.Own > 0) || r.Own > r.Elapsed {
			t.Errorf("%+v", r)
		}
	}
	var text strings.Builder
	if err := Print(&text, rows); err != nil || strings.Count(text.String(), "\n") != 9 {
		t.Errorf("%v:\n%s", err, text.String())
	}
}
