package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

func newFrameFromPCAPCommand() *cobra.Command {
	var appended bool
	cmd := &cobra.Command{
		Use:   "frame-from-pcap FILE",
		Short: "Print the first frame of a PCAP file as custom bytes of a TrafficProfile",
		Long: `Print the first frame of a PCAP or PCAPNG file as spec.frameSizes and spec.packet of a
TrafficProfile. Its hardware addresses are left out, as the tester has its own. The
tester's signature takes the place of the last 20 bytes, so that the lengths in the
headers stay right; with --append it comes behind the frame.`,
		Example: `  tcpdump -i eth0 -c 1 -w one.pcap udp port 319
  nodrop frame-from-pcap one.pcap`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := frameFromPCAP(args[0], appended)
			if err != nil {
				return fmt.Errorf("reading %s: %w", args[0], err)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().BoolVar(&appended, "append", false, "put the tester's signature behind the frame, which makes it 20 bytes longer")
	return cmd
}

// frameFromPCAP is the first frame of a file as YAML of a profile.
func frameFromPCAP(file string, appended bool) (string, error) {
	b, err := firstFrame(file)
	if err != nil {
		return "", err
	}
	const addresses, signature, fcs, line = 12, frame.SignatureSize + frame.EthernetCheckSize, 4, 32
	size := len(b) + fcs
	if appended {
		size += signature
	} else {
		b = b[:max(0, len(b)-signature)]
	}
	if len(b) < addresses+2 || len(b) > addresses+frame.MaxCustom {
		return "", hint.With(fmt.Errorf("a frame of %d bytes leaves %d for custom", size, len(b)-addresses),
			fmt.Sprintf("take a frame that leaves 2 to %d bytes; --append leaves 20 more", frame.MaxCustom))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "frameSizes: [%d]\npacket:\n  custom:\n    hex: >-\n", max(size, frame.EthernetMinSize))
	for b = b[addresses:]; len(b) > 0; b = b[min(line, len(b)):] {
		fmt.Fprintf(&out, "      % x\n", b[:min(line, len(b))])
	}
	return out.String(), nil
}

// firstFrame reads a PCAP or PCAPNG file of Ethernet.
func firstFrame(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var reader interface{ LinkType() layers.LinkType }
	var read func() ([]byte, int, error)
	if r, err := pcapgo.NewReader(f); err == nil {
		reader, read = r, func() ([]byte, int, error) { b, info, err := r.ReadPacketData(); return b, info.Length, err }
	} else {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		ng, err := pcapgo.NewNgReader(f, pcapgo.DefaultNgReaderOptions)
		if err != nil {
			return nil, hint.With(errors.New("this is neither PCAP nor PCAPNG"), "capture with `tcpdump -w FILE`, or save as PCAP")
		}
		reader, read = ng, func() ([]byte, int, error) { b, info, err := ng.ReadPacketData(); return b, info.Length, err }
	}
	b, length, err := read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file has no frame")
	case err != nil:
		return nil, err
	case reader.LinkType() != layers.LinkTypeEthernet:
		return nil, hint.With(fmt.Errorf("the frames are of link type %s", reader.LinkType()), "capture on an Ethernet interface, not on `any`")
	case len(b) < length:
		return nil, hint.With(fmt.Errorf("the first frame has %d bytes, of which %d were captured", length, len(b)), "capture whole frames: tcpdump -s 0")
	}
	return b, nil
}
