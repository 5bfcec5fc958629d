package recorder

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/influxdata/line-protocol/v2/lineprotocol"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder/recorderpb"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
	"nodrop.dev/nodrop/internal/reporting/metrics/stream"
)

// Port is the port on which the recorder listens.
const Port = 7446

// maxMessage bounds one request.
const maxMessage = 16 << 20

// Server takes points for a target, such as a spool.
type Server struct {
	recorderpb.UnimplementedRecorderServer
	target stream.Target
	grpc   *grpc.Server
}

// NewServer makes a server. The TLS configuration demands and verifies certificates of
// runners; see pki.RecorderConfig.
func NewServer(target stream.Target, t *tls.Config) *Server {
	s := &Server{target: target, grpc: grpc.NewServer(
		grpc.Creds(credentials.NewTLS(t)), grpc.MaxRecvMsgSize(maxMessage),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)}
	recorderpb.RegisterRecorderServer(s.grpc, s)
	return s
}

// Serve answers until Stop.
func (s *Server) Serve(l net.Listener) error {
	if err := s.grpc.Serve(l); err != nil {
		return fmt.Errorf("serving runners: %w", err)
	}
	return nil
}

// Stop lets requests end that were begun, and takes no more.
func (s *Server) Stop() { s.grpc.GracefulStop() }

// Take keeps points: of a runner the points of its run, of the operator rows, verdicts of gates and
// regressions of any run, and beds.
func (s *Server) Take(ctx context.Context, r *recorderpb.TakeRequest) (*recorderpb.TakeResponse, error) {
	name, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	for _, lines := range [][]byte{r.GetRows(), r.GetSeries()} {
		if err := mayAdd(name, lines); err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
	}
	switch err := s.target.Take(ctx, split(r.GetRows()), split(r.GetSeries())); {
	case errors.Is(err, spool.ErrFull):
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	case err != nil:
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return &recorderpb.TakeResponse{}, nil
}

// caller is the name in the certificate of the caller.
func caller(ctx context.Context) (name string, err error) {
	p, known := peer.FromContext(ctx)
	if !known {
		return "", status.Error(codes.Unauthenticated, "the caller is not known")
	}
	info, is := p.AuthInfo.(credentials.TLSInfo)
	if !is || len(info.State.PeerCertificates) == 0 {
		return "", status.Error(codes.Unauthenticated, "the caller has no certificate")
	}
	name = info.State.PeerCertificates[0].Subject.CommonName
	if _, runs := pki.RunnerUID(name); !runs && name != pki.RecordingName {
		return "", status.Errorf(codes.PermissionDenied, "the caller is %q, and only runners and the operator add points", name)
	}
	return name, nil
}

// ofOperator are the measurements of runs that the operator adds points of.
var ofOperator = []string{metrics.MeasurementRow, metrics.MeasurementRun, metrics.MeasurementRegression, metrics.MeasurementGate}

// ofLab is the measurement that the operator alone adds points of, which are of no run.
const ofLab = metrics.MeasurementBed

// mayAdd returns an error if the named caller may not add the lines.
func mayAdd(caller string, lines []byte) error {
	uid, runs := pki.RunnerUID(caller)
	for d := lineprotocol.NewDecoderWithBytes(lines); d.Next(); {
		name, err := d.Measurement()
		if err != nil {
			return fmt.Errorf("reading points: %w", err)
		}
		if !strings.HasPrefix(string(name), metrics.Prefix) {
			return fmt.Errorf("points of %q are not taken: the names of measurements begin with %s", name, metrics.Prefix)
		}
		of := ""
		for {
			key, value, err := d.NextField()
			if err != nil {
				return fmt.Errorf("reading points of %s: %w", name, err)
			}
			if key == nil {
				break
			}
			if string(key) == "run" {
				of = value.StringV()
			}
		}
		switch {
		case runs && string(name) == ofLab:
			return fmt.Errorf("a runner adds no points of %s", ofLab)
		case runs && of != uid:
			return fmt.Errorf("a point of %s is of run %q, and the caller runs %q", name, of, uid)
		case !runs && string(name) != ofLab && (of == "" || !slices.Contains(ofOperator, string(name))):
			return fmt.Errorf("a point of %s is of run %q, and the operator adds points of %s of runs, and of %s", name, of, strings.Join(ofOperator, ", "), ofLab)
		}
	}
	return nil
}

func split(text []byte) [][]byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	return lines[:len(lines)-1]
}
