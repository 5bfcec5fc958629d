package remote

import (
	"errors"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/routing"
)

// Sessions of LDP and their failures remain so on the wire.
func TestProtocolOnTheWire(t *testing.T) {
	t.Parallel()
	session := routing.Session{
		Name: "a", Protocol: routing.LDP, Port: "p", Local: netip.MustParseAddr("198.18.1.2"), Remote: netip.MustParseAddr("198.18.1.1"),
		RouterID: netip.MustParseAddr("198.18.1.2"), Families: []routing.Family{routing.IPv4LabeledUnicast}, HoldTime: time.Minute,
	}
	if got, err := sessionFromWire(sessionToWire(session)); err != nil || !reflect.DeepEqual(got, session) {
		t.Errorf("%+v, %v; want %+v", got, err, session)
	}
	sent := &routing.DownError{Protocol: routing.LDP, Session: "a", Port: "p", Cause: "the device sent Notification Shutdown", Final: true}
	var down *routing.DownError
	if err := failureFromWire(t.Context(), failureToWire(sent)); !errors.As(err, &down) || *down != *sent {
		t.Errorf("%v, want %v", err, sent)
	}
	missing := &routing.UnlearnedError{Protocol: routing.LDP, Session: "a", Want: routing.Table{Routes: 2, Digest: 7}}
	var unlearned *routing.UnlearnedError
	if err := failureFromWire(t.Context(), failureToWire(missing)); !errors.As(err, &unlearned) || *unlearned != *missing {
		t.Errorf("%v, want %v", err, missing)
	}
}
