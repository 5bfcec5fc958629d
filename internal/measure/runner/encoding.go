package runner

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// maxConfig bounds a configuration in bytes when it is read.
const maxConfig = 16 << 20

// Encode returns the configuration as JSON, compressed with zstd. The same
// configuration gives the same bytes.
func (c *Config) Encode() ([]byte, error) {
	data, err := Compress(c)
	if err != nil {
		return nil, fmt.Errorf("writing the configuration of the runner: %w", err)
	}
	return data, nil
}

// Compress returns a configuration as JSON, compressed with zstd.
func Compress(config any) ([]byte, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer encoder.Close()
	return encoder.EncodeAll(text, nil), nil
}

// Decode reads what Encode wrote.
func (c *Config) Decode(data []byte) error {
	text, err := Decompress(data)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, c); err != nil {
		return fmt.Errorf("reading the configuration of the runner: %w", err)
	}
	return nil
}

// magic are the first bytes of what zstd has compressed.
var magic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// Decompress returns the JSON of a configuration. What is not compressed is returned as
// it is.
func Decompress(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, magic) {
		return data, nil
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxConfig))
	if err != nil {
		return nil, fmt.Errorf("decompressing the configuration: %w", err)
	}
	defer z.Close()
	text, err := z.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("decompressing the configuration: %w", err)
	}
	return text, nil
}
