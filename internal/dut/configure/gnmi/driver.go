package gnmi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
)

// driver configures one device.
type driver struct{ access gnmiaccess.Config }

// New returns a driver. It does not connect yet.
func New(access gnmiaccess.Config) (configure.Driver, error) {
	if err := access.Check(); err != nil {
		return nil, err
	}
	return &driver{access}, nil
}

// Language implements configure.Driver.
func (d *driver) Language() configure.Language { return Language{} }

// Connect implements configure.Driver.
func (d *driver) Connect(ctx context.Context) (configure.Session, error) {
	c, err := d.access.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &session{Client: c}, nil
}

type session struct{ *gnmiaccess.Client }

var _ configure.Session = (*session)(nil)

// Running implements configure.Session. A device that cannot return its configuration alone returns all, of which the state
// is left out.
func (s *session) Running() (configure.Configuration, error) {
	found, err := s.Get(gnmi.GetRequest_CONFIG, &gnmi.Path{})
	if status.Code(err) == codes.Unimplemented {
		found, err = s.Get(gnmi.GetRequest_ALL, &gnmi.Path{})
	}
	if status.Code(err) == codes.NotFound {
		return "", nil
	}
	if err != nil {
		return "", s.reading(err)
	}
	all := tree{}
	for _, n := range found {
		for _, u := range n.GetUpdate() {
			if err := add(all, u); err != nil {
				return "", fmt.Errorf("%w: reading the configuration: %w", configure.ErrRefused, err)
			}
		}
	}
	return Language{}.Parse(write(all))
}

// reading returns the error of a request that reads.
func (s *session) reading(err error) error {
	err = s.Explain(err)
	if errors.Is(err, configure.ErrUnreachable) || errors.Is(err, configure.ErrRefused) {
		return err
	}
	return fmt.Errorf("%w: reading the configuration: %w", configure.ErrRefused, err)
}

// add adds a value at the root, or at a container at the top.
func add(all tree, u *gnmi.Update) error {
	text := u.GetVal().GetJsonIetfVal()
	if text == nil {
		text = u.GetVal().GetJsonVal()
	}
	path := u.GetPath().GetElem()
	if text == nil || len(path) > 1 || len(path) == 1 && len(path[0].Key) > 0 {
		return fmt.Errorf("the device answers with a value of %s in place of the root in JSON", gnmiaccess.Text(u.GetPath()))
	}
	value, err := read(string(text))
	if err != nil {
		return err
	}
	if len(path) == 1 {
		all[path[0].Name] = value
		return nil
	}
	maps.Copy(all, value)
	return nil
}

// Software implements configure.Session.
func (s *session) Software() (string, error) {
	found, err := s.Get(gnmi.GetRequest_ALL, gnmiaccess.Path("system", "state", "software-version"))
	if err != nil {
		if err := s.Explain(err); errors.Is(err, configure.ErrUnreachable) {
			return "", err
		}
		return "", nil // It does not have this leaf.
	}
	version := ""
	for _, n := range found {
		for _, u := range n.GetUpdate() {
			if text := u.GetVal().GetJsonIetfVal(); text != nil {
				_ = json.Unmarshal(text, &version)
				continue
			}
			version = u.GetVal().GetStringVal()
		}
	}
	return version, nil
}

// operation is the name of a change in records: a device carries out all of it or nothing.
const operation = "set"

// Change implements configure.Session.
func (s *session) Change(have, want configure.Configuration) ([]configure.Answer, error) {
	c, err := between(have, want)
	if err != nil {
		return nil, err
	}
	request := &gnmi.SetRequest{}
	for _, name := range c.gone {
		request.Delete = append(request.Delete, gnmiaccess.Path(gnmiaccess.Local(name)))
	}
	for _, name := range slices.Sorted(maps.Keys(c.replaced)) {
		text, err := json.Marshal(c.replaced[name])
		if err != nil {
			return nil, err
		}
		value := &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: text}}
		if s.Encoding == gnmi.Encoding_JSON {
			value = &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: text}}
		}
		request.Replace = append(request.Replace, &gnmi.Update{Path: gnmiaccess.Path(gnmiaccess.Local(name)), Val: value})
	}
	began := time.Now()
	err = s.Set(request)
	answer := configure.Answer{Command: operation, Took: time.Since(began)}
	if err == nil {
		return []configure.Answer{answer}, nil
	}
	if explained := s.Explain(err); errors.Is(explained, configure.ErrUnreachable) || errors.Is(explained, configure.ErrRefused) && status.Code(err) != codes.Unimplemented {
		return nil, explained
	}
	answer.Rejected, answer.Text = true, hideSecrets(status.Convert(err).Message(), c)
	return []configure.Answer{answer}, &configure.RejectedError{Answer: answer}
}
