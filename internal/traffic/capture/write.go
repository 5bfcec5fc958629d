// Package capture writes received frames that an engine kept as PCAPNG, in which each has a
// comment that says why it was kept.
package capture

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"nodrop.dev/nodrop/internal/base/version"
	"nodrop.dev/nodrop/internal/traffic"
)

// Trial contains the kept frames of one trial.
type Trial struct {
	// Name of the trial, for the comments.
	Name string
	// Frames in the order of their ports, and of the time at which they came.
	Frames []traffic.CapturedFrame
}

// nanoseconds is the resolution of the times in the file.
const nanoseconds = 9

// Write writes the frames of trials, and returns how many there are. Ports are the
// interfaces of the file. Times are those at which frames were received.
func Write(w io.Writer, trials ...Trial) (frames int64, err error) {
	ports := map[string]int{}
	var ng *pcapgo.NgWriter
	for _, t := range trials {
		for _, f := range t.Frames {
			port, known := ports[f.Port]
			if !known {
				port = len(ports)
				ports[f.Port] = port
				of := pcapgo.NgInterface{Name: f.Port, LinkType: layers.LinkTypeEthernet, TimestampResolution: nanoseconds}
				if ng == nil {
					about := pcapgo.NgSectionInfo{Application: "nodrop " + version.String()}
					ng, err = pcapgo.NewNgWriterInterface(w, of, pcapgo.NgWriterOptions{SectionInfo: about})
				} else {
					_, err = ng.AddInterface(of)
				}
				if err != nil {
					return frames, fmt.Errorf("writing captured frames: %w", err)
				}
			}
			info := gopacket.CaptureInfo{Timestamp: f.Time, CaptureLength: len(f.Data), Length: f.Length, InterfaceIndex: port}
			if err := ng.WritePacketWithOptions(info, f.Data, pcapgo.NgPacketOptions{Comments: []string{comment(t.Name, f)}}); err != nil {
				return frames, fmt.Errorf("writing captured frames: %w", err)
			}
			frames++
		}
	}
	if ng == nil {
		return 0, nil
	}
	if err := ng.Flush(); err != nil {
		return frames, fmt.Errorf("writing captured frames: %w", err)
	}
	return frames, nil
}

// comment returns the reasons why a frame was captured.
func comment(trial string, f traffic.CapturedFrame) string {
	var why []string
	for _, kind := range f.Kinds {
		why = append(why, string(kind))
	}
	if f.Damage != "" {
		why = []string{f.Damage}
	}
	text := fmt.Sprintf("%s: %s: sequence %d of stream %d", trial, strings.Join(why, ", "), f.Sequence, f.Stream)
	if f.Damage != "" {
		text += ", as it says"
	}
	if slices.Contains(f.Kinds, traffic.CaptureAfterGap) {
		text += fmt.Sprintf(", %d missing before it", f.Missing)
	}
	return text
}
