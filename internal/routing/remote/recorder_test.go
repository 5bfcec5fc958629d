package remote_test

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"nodrop.dev/nodrop/internal/routing/remote/speakerpb"
)

var errRecorded = errors.New("recorded")

// recorder is a connection that keeps what is sent, and answers nothing.
type recorder struct {
	sets *speakerpb.SetsRequest
	open *speakerpb.OpenRequest
}

func (r recorder) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return errRecorded
}

func (r recorder) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return recording{recorder: r}, nil
}

type recording struct {
	grpc.ClientStream
	recorder
}

func (r recording) SendMsg(m any) error {
	switch m := m.(type) {
	case *speakerpb.SetsRequest:
		proto.Merge(r.sets, m)
	case *speakerpb.OpenRequest:
		proto.Merge(r.open, m)
	}
	return nil
}

func (r recording) CloseSend() error  { return nil }
func (r recording) RecvMsg(any) error { return errRecorded }
