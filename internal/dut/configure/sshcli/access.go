package sshcli

import (
	"errors"
	"fmt"
	"strings"
)

// Keys of a Secret of type nodrop.dev/device.
const (
	keyUser       = "user"
	keyPassword   = "password"
	keyPrivateKey = "privateKey"
	keyHostKeys   = "hostKeys"
)

// AccessKeys are the keys of a Secret by which a device is reached.
var AccessKeys = []string{keyUser, keyPassword, keyPrivateKey, keyHostKeys}

// SetAccess takes the data of a Secret by which the device is reached. What is missing is named by its key;
// no value is repeated.
func (c *Config) SetAccess(data map[string][]byte) error {
	line := func(key string) string { return strings.TrimRight(string(data[key]), "\r\n") }
	c.User, c.Password = line(keyUser), line(keyPassword)
	c.PrivateKey, c.HostKeys = data[keyPrivateKey], data[keyHostKeys]
	switch {
	case c.User == "":
		return fmt.Errorf("key %s: Required value: give the user of the device", keyUser)
	case (c.Password == "") == (len(c.PrivateKey) == 0):
		return fmt.Errorf("keys %s and %s: give one of them", keyPassword, keyPrivateKey)
	case len(c.HostKeys) == 0:
		return errors.New("key " + keyHostKeys + ": Required value: give the keys that the device may have, such as the lines that ssh-keyscan prints; check them at the device")
	}
	return nil
}
