package router

import (
	"bytes"
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
)

// BedSessions contains what the pod that starts a virtual device needs to know of the sessions of its
// bed.
type BedSessions struct {
	// Bed has the ports and the sessions.
	Bed v1alpha1.TestBed `json:"bed"`
	// Passwords of TCP MD5 by session.
	Passwords map[string]routing.Secret `json:"passwords,omitempty"`
}

// NewBedSessions returns the sessions of a bed; nil for a bed without sessions.
func NewBedSessions(bed *v1alpha1.TestBed, passwords map[string]routing.Secret) *BedSessions {
	if bed.Spec.Routing == nil {
		return nil
	}
	l := &BedSessions{Passwords: passwords}
	l.Bed.Name = bed.Name
	l.Bed.Spec.Ports, l.Bed.Spec.Routing = bed.Spec.Ports, bed.Spec.Routing
	l.Bed.Spec.Engine.Kind = bed.Spec.Engine.Kind
	return l
}

// FileOf is the name of the file with the configuration of a kind of device.
func FileOf(kind string) string { return "device." + kind + ".conf" }

// Files returns the configurations of a virtual device by the names of their files, for the
// kinds FRR and BIRD that a topology mentions. interfaces contains the interfaces of the
// device by the interface of the host at their other end, which ports name as their host
// device.
func (l *BedSessions) Files(topology string, interfaces map[string]string) (map[string][]byte, error) {
	names := map[string]string{}
	for _, p := range l.Bed.Spec.Ports {
		if p.Attachment != nil && p.Attachment.HostDevice != nil {
			if name, ok := interfaces[p.Attachment.HostDevice.Interface]; ok {
				names[p.Name] = name
			}
		}
	}
	files := map[string][]byte{}
	for _, kind := range []string{FRR, BIRD} {
		if !strings.Contains(topology, FileOf(kind)) {
			continue
		}
		config, errs := ForBed(&l.Bed, kind, names)
		if len(errs) > 0 {
			return nil, fmt.Errorf("configuring the device: %w", errs.ToAggregate())
		}
		config.Passwords = true
		for i := range config.Sessions {
			s := &config.Sessions[i]
			if s.Password == "" {
				continue
			}
			if s.Password = l.Passwords[s.Name]; s.Password == "" {
				return nil, fmt.Errorf("configuring the device: the password of session %s is missing", s.Name)
			}
		}
		var text bytes.Buffer
		if err := Render(&text, kind, config); err != nil {
			return nil, fmt.Errorf("configuring the device: %w", err)
		}
		files[FileOf(kind)] = text.Bytes()
	}
	return files, nil
}
