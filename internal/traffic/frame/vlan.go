package frame

import (
	"encoding/binary"
	"fmt"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// VLAN is a tag of IEEE 802.1Q.
type VLAN struct {
	// ID of the VLAN, 1 to 4094.
	ID uint16 `json:"id"`
	// Priority code point, 0 to 7.
	Priority uint8 `json:"priority,omitempty"`
}

// VLANs are the tags of a frame, outermost first: none, one, or a service tag (IEEE
// 802.1ad) and the customer's.
type VLANs []VLAN

const (
	// MaxVLANs is the maximum number of tags of a test frame.
	MaxVLANs = 2
	// MaxVLAN is the highest ID of a VLAN.
	MaxVLAN = 4094

	// tagsAt is the offset of the tags: behind the MAC addresses.
	tagsAt = 12
	idMask = 1<<12 - 1
	// The EtherType of IEEE 802.1ad.
	etherService = 0x88a8
)

// EtherType returns the EtherType of tag i.
func (v VLANs) EtherType(i int) uint16 {
	if i < len(v)-1 {
		return etherService
	}
	return etherVLAN
}

// TCI is the control information of a tag: priority and ID.
func (v VLAN) TCI() uint16 { return uint16(v.Priority)<<13 | v.ID }

// TagsOf are the tags that a profile or a bed gives.
func TagsOf(v *v1alpha1.VLANTag) VLANs {
	if v == nil {
		return nil
	}
	var tags VLANs
	if s := v.Service; s != nil {
		tags = append(tags, VLAN{ID: uint16(s.ID), Priority: uint8(s.Priority)})
	}
	return append(tags, VLAN{ID: uint16(v.ID), Priority: uint8(v.Priority)})
}

// Bytes is the size of the tags.
func (v VLANs) Bytes() int { return tagBytes * len(v) }

// append appends the tags to what stands before them.
func (v VLANs) append(b []byte) []byte {
	for i, tag := range v {
		b = binary.BigEndian.AppendUint16(b, v.EtherType(i))
		b = binary.BigEndian.AppendUint16(b, tag.TCI())
	}
	return b
}

// Tag returns an untagged Ethernet frame with the tags.
func (v VLANs) Tag(b []byte) []byte {
	return slices.Insert(slices.Clone(b), tagsAt, v.append(nil)...)
}

// Untag returns a frame without the tags, and says whether it has them. A device may
// change priorities, and has a word on the EtherType of the outer tag.
func (v VLANs) Untag(b []byte) ([]byte, bool) {
	at := tagsAt
	for _, tag := range v {
		if len(b) < at+tagBytes+2 || !isTag(binary.BigEndian.Uint16(b[at:])) || binary.BigEndian.Uint16(b[at+2:])&idMask != tag.ID {
			return nil, false
		}
		at += tagBytes
	}
	return slices.Delete(slices.Clone(b), tagsAt, at), true
}

func isTag(etherType uint16) bool { return etherType == etherVLAN || etherType == etherService }

// String names the VLAN in a sentence: "VLAN 100", "VLAN 100 of service VLAN 2000"; it is
// empty without a tag.
func (v VLANs) String() string {
	switch len(v) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("VLAN %d", v[0].ID)
	}
	return fmt.Sprintf("VLAN %d of service VLAN %d", v[len(v)-1].ID, v[0].ID)
}
