package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/verify"
)

// verifiedSamples are samples on the simulated engine that together have rows of every method.
var verifiedSamples = []string{
	"address-learning", "back-to-back", "bgp-restart", "broadcast", "buffer-size", "congestion-control", "convergence", "fib-truth", "flows",
	"forwarding-rate", "frame-loss", "gates", "group-capacity", "group-delay", "head-of-line", "incast", "mixed-class", "multicast", "ordering",
	"recovery", "reset", "rfc2544-latency", "route-capacity", "route-flap", "route-refresh", "search", "session-scale", "soak",
}

// scaleSamples are further ones, whose figures are changed in a round of their own.
var scaleSamples = []string{"configuration-scale", "rpc-latency", "collectives", "bulk", "message-rate", "incast-stateless"}

// resultsOfEveryMethod runs the samples, and returns their results as documents.
func resultsOfEveryMethod(t *testing.T) map[string][]byte {
	t.Helper()
	results := map[string][]byte{}
	for _, name := range slices.Concat(verifiedSamples, scaleSamples) {
		files, err := filepath.Glob(filepath.Join(samplesDir, name, "*benchmark.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("sample %s: %v", name, err)
		}
		var out, complaints bytes.Buffer
		root := newRootCommand("nodrop")
		root.SetArgs([]string{"run", "-f", files[0], "-o", "json"})
		root.SetOut(&out)
		root.SetErr(&complaints)
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("sample %s: %v\n%s", name, err, &complaints)
		}
		results[name] = out.Bytes()
	}
	return results
}

// TestVerify accepts the results of every method, and detects single digits that were changed. It
// prints what detected them: the figures of a row alone, or the digest of the content.
func TestVerify(t *testing.T) {
	sendsNoFrames(t)
	results := resultsOfEveryMethod(t)
	seen := map[v1alpha1.Method]bool{}
	recomputed, consistent := 0, 0
	for name, text := range results {
		d, err := report.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		v := verify.Document(d)
		if err := v.Content(text); err != nil {
			t.Fatal(err)
		}
		recomputed, consistent = recomputed+v.Recomputed, consistent+v.Consistent
		if !v.Holds() || len(v.Unchecked) > 0 || len(v.WithoutTrials) > 0 || v.Digest != "as contained" {
			t.Errorf("sample %s: digest %s, unchecked %q, without trials %q, mismatches %+v", name, v.Digest, v.Unchecked, v.WithoutTrials, v.Mismatches)
		}
		for _, row := range d.Rows {
			seen[row.Method] = true
		}
	}
	for _, d := range method.All() {
		for _, name := range append([]v1alpha1.Method{d.Name}, d.Further...) {
			// TestRunConnections verifies its rows: no model keeps connections.
			if !seen[name] && name != v1alpha1.MethodConnections {
				t.Errorf("no sample has rows of method %s: add one to verifiedSamples", name)
			}
		}
	}
	t.Logf("results of %d methods: recomputed %d figures, checked %d for consistency only", len(seen), recomputed, consistent)
	t.Run("figures", func(t *testing.T) { changedFigures(t, results, verifiedSamples) })
	t.Run("figures of scales", func(t *testing.T) { changedFigures(t, results, scaleSamples) })
	t.Run("digits", func(t *testing.T) { changedDigits(t, results) })
}

// leaf is a number in a document, which set replaces.
type leaf struct {
	path  string
	value json.Number
	set   func(json.Number)
}

// leaves returns the numbers below a value.
func leaves(v any, path string, skip func(path string) bool) (all []leaf) {
	add := func(at string, v any, set func(json.Number)) {
		if n, isNumber := v.(json.Number); isNumber && !skip(at) {
			all = append(all, leaf{at, n, set})
			return
		}
		if !skip(at) {
			all = append(all, leaves(v, at, skip)...)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			add(path+"."+key, member, func(n json.Number) { v[key] = n })
		}
	case []any:
		for i, item := range v {
			add(fmt.Sprintf("%s[%d]", path, i), item, func(n json.Number) { v[i] = n })
		}
	}
	slices.SortFunc(all, func(a, b leaf) int { return strings.Compare(a.path, b.path) })
	return all
}

// skipped are the members of a row that are no figures: its identity, its trials, and the counts
// from which the rates of a series follow. changedDigits changes these, too.
var skipped = regexp.MustCompile(`\.(frameSize|lossRatioPPM|repetition|trialRecords)$|\.(series|stable)\.(points\.)?(endNs|sentFrames|receivedFrames|minFrames|minNs|maxFrames|maxNs)(\[|$)`)

// changedFigures changes a digit of 200 figures of rows, and verifies them without the digest.
func changedFigures(t *testing.T, results map[string][]byte, samples []string) {
	random := rand.New(rand.NewPCG(26, 4))
	const changes = 200
	missed := map[string]int{}
	for i := range changes {
		name := samples[i%len(samples)]
		decoder := json.NewDecoder(bytes.NewReader(results[name]))
		decoder.UseNumber()
		var content map[string]any
		if err := decoder.Decode(&content); err != nil {
			t.Fatal(err)
		}
		all := leaves(content["rows"], "rows", skipped.MatchString)
		one := all[random.IntN(len(all))]
		digits := []byte(one.value)
		at := random.IntN(len(digits))
		digits[at] = '0' + (digits[at]-'0'+byte(1+random.IntN(9)))%10
		one.set(json.Number(strings.TrimLeft(string(digits), "0") + strings.Repeat("0", map[bool]int{true: 1}[strings.Trim(string(digits), "0") == ""])))
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		var d report.Document
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		if v := verify.Document(&d); v.Holds() {
			missed[fmt.Sprintf("%s: %s from %s to %s", name, one.path, one.value, digits)]++
		}
	}
	t.Logf("%d of %d changed figures of rows were found by recomputation or consistency, without the digest", changes-len(missed), changes)
	for what := range missed {
		t.Errorf("not found without the digest: %s", what)
	}
}

// changedDigits changes any digit of a document 200 times: of figures, trials, names, times and
// settings.
func changedDigits(t *testing.T, results map[string][]byte) {
	random := rand.New(rand.NewPCG(26, 5))
	const changes = 200
	byFigures, byDigest, refused := 0, 0, 0
	for i := range changes {
		text := slices.Clone(results[verifiedSamples[i%len(verifiedSamples)]])
		at := random.IntN(len(text))
		for text[at] < '0' || text[at] > '9' {
			at = (at + 1) % len(text)
		}
		before := text[at]
		text[at] = '0' + (text[at]-'0'+byte(1+random.IntN(9)))%10
		var d report.Document
		if err := json.Unmarshal(text, &d); err != nil {
			refused++ // such as a number that begins with 0
			continue
		}
		v := verify.Document(&d)
		if !v.Holds() {
			byFigures++
		}
		if err := v.Content(text); err != nil {
			t.Fatal(err)
		}
		switch {
		case v.Digest == "differs":
			byDigest++
		case v.Holds():
			t.Errorf("sample %s: %q changed from %c was not found: ...%s...", verifiedSamples[i%len(verifiedSamples)], text[at], before, text[max(0, at-60):min(len(text), at+20)])
		}
	}
	t.Logf("of %d changed digits anywhere: %d found by the figures, %d by the digest of the content (%d by it alone), %d are no valid document",
		changes, byFigures, byDigest, byDigest-byFigures, refused)
}

// TestSignedResults signs a result. Another key and a changed byte are refused.
func TestSignedResults(t *testing.T) {
	sendsNoFrames(t)
	dir := t.TempDir()
	result, signed := filepath.Join(dir, "result.json"), filepath.Join(dir, "signed.json")
	start(t, "run", "-f", filepath.Join(samplesDir, "soak", "benchmark.yaml"), "-o", "json", "--output-file", result).wants(exit.Passed, "", "")
	private, public := writeKeys(t, dir, "one")
	_, other := writeKeys(t, dir, "other")
	start(t, "sign", result, "--key", private, "--output-file", signed).wants(exit.Passed, "", "")
	start(t, "verify", signed, "--key", public).wants(exit.Passed, "the result agrees with its trials", "")
	start(t, "verify", signed, "--key", other).wants(exit.Failed, "", "the signature is not valid: the result was changed after it was signed, or it was signed with another key")
	start(t, "verify", result, "--key", public).wants(exit.Failed, "", "is not signed")
	text, err := os.ReadFile(signed)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte(`"payload"`)) + 2000
	text[at] = map[bool]byte{true: 'B', false: 'A'}[text[at] == 'A']
	if err := os.WriteFile(signed, text, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "verify", signed, "--key", public).wants(exit.Failed, "", "the signature is not valid")
}

// writeKeys writes a pair of Ed25519 keys as openssl does.
func writeKeys(t *testing.T, dir, name string) (private, public string) {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	der, err := x509.MarshalPKCS8PrivateKey(priv)
	private = write(name+".pem", "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(pub)
	return private, write(name+".pub.pem", "PUBLIC KEY", der, err)
}
