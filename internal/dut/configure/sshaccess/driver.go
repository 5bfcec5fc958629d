package sshaccess

import (
	"context"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// driver configures one device that is reached by SSH.
type driver struct {
	access   Config
	language configure.Language
	open     func(context.Context, *Config) (configure.Session, error)
}

// NewDriver returns a driver whose sessions open starts, with the access. It does not connect yet, and fails for settings that
// cannot connect.
func NewDriver(access Config, language configure.Language, open func(context.Context, *Config) (configure.Session, error)) (configure.Driver, error) {
	if err := access.Check(); err != nil {
		return nil, err
	}
	return &driver{access, language, open}, nil
}

// Language implements configure.Driver.
func (d *driver) Language() configure.Language { return d.language }

// Connect implements configure.Driver.
func (d *driver) Connect(ctx context.Context) (configure.Session, error) {
	return d.open(ctx, &d.access)
}
