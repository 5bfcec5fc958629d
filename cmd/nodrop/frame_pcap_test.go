package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// captured writes a file with one frame, of which some bytes were captured.
func captured(t *testing.T, b []byte, of int, link layers.LinkType, ng bool) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "one.pcap")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info := gopacket.CaptureInfo{CaptureLength: len(b), Length: of}
	if ng {
		w, err := pcapgo.NewNgWriter(f, link)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WritePacket(info, b); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return file
	}
	w := pcapgo.NewWriter(f)
	if err := w.WriteFileHeader(65535, link); err != nil {
		t.Fatal(err)
	}
	if err := w.WritePacket(info, b); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestFrameFromPCAP checks that the output is a packet of a profile, and makes a frame of the
// captured length with the captured bytes.
func TestFrameFromPCAP(t *testing.T) {
	sendsNoFrames(t)
	b := make([]byte, 200)
	frame.Random.Fill(b)
	for name, ng := range map[string]bool{"pcap": false, "pcapng": true} {
		text, err := frameFromPCAP(captured(t, b, len(b), layers.LinkTypeEthernet, ng), false)
		if err != nil {
			t.Fatal(name, err)
		}
		var spec v1alpha1.TrafficProfileSpec
		if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		custom, err := frame.CustomBytes(*spec.Packet.Custom)
		if err != nil || string(custom) != string(b[12:180]) || spec.FrameSizes[0] != 204 {
			t.Errorf("%s: %x %v, frame sizes %v: want %x and 204", name, custom, err, spec.FrameSizes, b[12:180])
		}
	}
	if text, err := frameFromPCAP(captured(t, b, len(b), layers.LinkTypeEthernet, false), true); err != nil || !strings.HasPrefix(text, "frameSizes: [224]\n") {
		t.Errorf("%v:\n%s", err, text)
	}
}

func TestFrameFromPCAPRefuses(t *testing.T) {
	sendsNoFrames(t)
	b := make([]byte, 200)
	noFile := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(noFile, []byte("no capture at all, but text of some length\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, file := range map[string]string{
		"this is neither PCAP nor PCAPNG":                           noFile,
		"the frames are of link type Linux SLL":                     captured(t, b, len(b), layers.LinkTypeLinuxSLL, false),
		"the first frame has 300 bytes, of which 200 were captured": captured(t, b, 300, layers.LinkTypeEthernet, false),
		"a frame of 34 bytes leaves -2 for custom":                  captured(t, b[:30], 30, layers.LinkTypeEthernet, false),
	} {
		if _, err := frameFromPCAP(file, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
