package sshaccess

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Keys of a Secret of type nodrop.dev/device.
const (
	keyUser       = "user"
	keyPassword   = "password"
	keyPrivateKey = "privateKey"
	keyHostKeys   = "hostKeys"
)

// ReadAccess reads by what the device is reached, as the keys of a Secret; read returns the value of a key, or
// fails with fs.ErrNotExist. What is missing is named by its key; no value is repeated.
func (c *Config) ReadAccess(read func(key string) ([]byte, error)) error {
	data := map[string][]byte{}
	for _, key := range []string{keyUser, keyPassword, keyPrivateKey, keyHostKeys} {
		value, err := read(key)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("key %s: %w", key, err)
		}
		data[key] = value
	}
	line := func(key string) string { return strings.TrimRight(string(data[key]), "\r\n") }
	c.User, c.Password = line(keyUser), line(keyPassword)
	c.PrivateKey, c.HostKeys = data[keyPrivateKey], data[keyHostKeys]
	switch {
	case c.User == "":
		return fmt.Errorf("key %s: Required value: give the user of the device", keyUser)
	case (c.Password == "") == (len(c.PrivateKey) == 0):
		return fmt.Errorf("keys %s and %s: give one of them", keyPassword, keyPrivateKey)
	case len(c.HostKeys) == 0:
		return fmt.Errorf("key %s: %s", keyHostKeys, hostKeysRequired)
	}
	return nil
}
