package sshaccess

import (
	"fmt"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// Keys of a Secret of type nodrop.dev/device.
const (
	keyUser       = "user"
	keyPassword   = "password"
	keyPrivateKey = "privateKey"
	keyHostKeys   = "hostKeys"
)

// Keys names the keys of the Secret of a device that is reached by SSH.
const Keys = "user, password or privateKey, and hostKeys"

// ReadConfig returns the settings by which a device is reached. It fails for keys that are missing, with their names.
func ReadConfig(r configure.Reach) (Config, error) {
	c := Config{Address: r.Address, Dial: r.Dial, Timeout: r.Timeout}
	data, err := configure.ReadAccess(r.Key, keyUser, keyPassword, keyPrivateKey, keyHostKeys)
	if err != nil {
		return c, err
	}
	c.User, c.Password = data.Line(keyUser), data.Line(keyPassword)
	c.PrivateKey, c.HostKeys = data[keyPrivateKey], data[keyHostKeys]
	switch {
	case c.User == "":
		return c, fmt.Errorf("key %s: Required value: give the user of the device", keyUser)
	case (c.Password == "") == (len(c.PrivateKey) == 0):
		return c, fmt.Errorf("keys %s and %s: give one of them", keyPassword, keyPrivateKey)
	case len(c.HostKeys) == 0:
		return c, fmt.Errorf("key %s: %s", keyHostKeys, hostKeysRequired)
	}
	return c, c.Check()
}
