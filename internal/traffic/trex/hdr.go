package trex

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"time"
)

// A server that was started with --hdrh keeps an HDR histogram of microseconds
// besides its own, and gives it in the compressed encoding V2 of HdrHistogram, as
// base64: magic and length, and in zlib a head and the counts. A count is a LEB128
// of at most nine bytes in zigzag; one below zero stands for so many buckets without
// any.
const (
	hdrCompressed = 0x1c849304
	hdrPlain      = 0x1c849303
	// hdrWord is set in both by whatever counts in words.
	hdrWord = 0x10
	hdrHead = 40 // bytes before the counts
	// hdrMost bounds the bytes and the buckets of a histogram: up to 10 s, as TRex keeps
	// it, it has 16,384 of them.
	hdrMost     = 1 << 20
	hdrVarBytes = 9
)

// errHDR is a histogram that is not in the encoding.
var errHDR = errors.New("the HDR histogram of TRex cannot be read")

// readHDR returns the buckets of an encoded histogram that have frames, in
// nanoseconds, from the lowest to the highest.
func readHDR(text string) ([]bucket, error) {
	plain, err := unfoldHDR(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errHDR, err)
	}
	n, digits, lowest := binary.BigEndian.Uint32(plain[4:]), binary.BigEndian.Uint32(plain[12:]), binary.BigEndian.Uint64(plain[16:])
	counts := plain[hdrHead:]
	if int(n) != len(counts) || digits < 1 || digits > 5 || lowest < 1 || binary.BigEndian.Uint32(plain[8:]) != 0 {
		return nil, fmt.Errorf("%w: %d bytes of counts where it says %d, %d significant digits, lowest value %d", errHDR, len(counts), n, digits, lowest)
	}
	// Values up to twice the power of ten that has the digits have buckets of their
	// own; from there on each power of two is divided into half as many.
	power := uint64(2)
	for range digits {
		power *= 10
	}
	half := bits.Len64(power-1) - 1 // logarithm of half the number of such values
	us := uint64(time.Microsecond) << (bits.Len64(lowest) - 1)
	var out []bucket
	for index := uint64(0); len(counts) > 0; {
		n, size := zigzag(counts)
		if size == 0 || index >= hdrMost {
			return nil, fmt.Errorf("%w: a count is cut off, or of no bucket", errHDR)
		}
		counts = counts[size:]
		if n < 0 {
			index += uint64(-n)
			continue
		}
		if n > 0 {
			low, width := index, uint64(1)
			if shift := index >> half; shift > 1 {
				low, width = (index&(1<<half-1)+1<<half)<<(shift-1), 1<<(shift-1)
			}
			out = append(out, bucket{low * us, (low + width) * us, uint64(n)})
		}
		index++
	}
	return out, nil
}

// unfoldHDR is the histogram that text encodes: head and counts.
func unfoldHDR(text string) ([]byte, error) {
	wire, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if len(wire) < 8 || binary.BigEndian.Uint32(wire)&^hdrWord != hdrCompressed {
		return nil, errors.New("it does not begin as one in V2 does")
	}
	z, err := zlib.NewReader(bytes.NewReader(wire[8:]))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	plain, err := io.ReadAll(io.LimitReader(z, hdrMost))
	if err != nil {
		return nil, err
	}
	if len(plain) < hdrHead || binary.BigEndian.Uint32(plain)&^hdrWord != hdrPlain {
		return nil, errors.New("what is compressed in it is not V2")
	}
	return plain, nil
}

// zigzag reads a number from the beginning of b, and how many bytes it has; 0 when
// b ends before it. The ninth byte has eight bits of the number.
func zigzag(b []byte) (n int64, size int) {
	var u uint64
	for i, c := range b[:min(len(b), hdrVarBytes)] {
		if i == hdrVarBytes-1 {
			u |= uint64(c) << (7 * i)
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
	}
	return 0, 0
}
