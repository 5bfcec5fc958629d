package scale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
)

// Within is how long a device may take until it reports a list.
const Within = 10 * time.Minute

// Scales are the lists of a device, which the owner of the lab describes.
type Scales struct {
	driver   configure.Driver
	platform string
	// wanted is the configuration of the run, without a list.
	wanted    configure.Configuration
	described []v1alpha1.DeviceScale
}

// New returns the described lists of a device of a platform, which has a configuration in the run.
func New(d configure.Driver, platform string, wanted configure.Configuration, described []v1alpha1.DeviceScale) *Scales {
	return &Scales{d, platform, wanted, described}
}

// Scale gives the device the configuration of the run and a list, by its name, with n entries; 0 for no list. It returns when the device
// reports the configuration. Rejected is the reason why the device did not take the list; empty if it did. Afterwards the device may
// have a part of it, until the next call.
func (s *Scales) Scale(ctx context.Context, name string, n int64) (rejected string, _ error) {
	list, err := s.named(name)
	if err != nil {
		return "", err
	}
	if n == 0 {
		_, err := configure.Restore(ctx, s.driver, s.wanted)
		return "", err
	}
	if n < list.Range.Minimum || n > list.Range.Maximum {
		return "", fmt.Errorf("entries: Invalid value: %d: the bed allows %d to %d", n, list.Range.Minimum, list.Range.Maximum)
	}
	text, err := Write(s.platform, s.wanted, list, n)
	if err != nil {
		return "", err
	}
	want, err := configure.Whole(s.driver.Language(), text)
	if err != nil {
		return "", fmt.Errorf("the configuration with the list: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, Within, fmt.Errorf("%s are over: lower the maximum of the list", Within))
	defer cancel()
	_, err = configure.Apply(ctx, s.driver, want, 0)
	return refusal(err)
}

// named returns a described list.
func (s *Scales) named(name string) (*v1alpha1.DeviceScale, error) {
	i := slices.IndexFunc(s.described, func(d v1alpha1.DeviceScale) bool { return d.Name == name })
	if i >= 0 {
		return &s.described[i], nil
	}
	var names []string
	for _, d := range s.described {
		names = append(names, d.Name)
	}
	return nil, fmt.Errorf("name: Unsupported value: %q: the bed describes %s", name, strings.Join(names, ", "))
}

// refusal separates the answer of a device that does not take a list from other errors.
func refusal(err error) (rejected string, _ error) {
	var line *configure.RejectedError
	var different *configure.DifferentError
	switch {
	case errors.As(err, &line):
		if line.Text == "" {
			return line.Error(), nil
		}
		return fmt.Sprintf("%q: %s", line.Command, line.Text), nil
	case errors.As(err, &different):
		return different.Error(), nil
	}
	return "", err
}
