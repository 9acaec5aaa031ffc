// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// Files of a slice's directory, and the folder that holds the directories in a
// container.
const (
	SlicesDir  = "/run/aipub/slices"
	GrantFile  = "grant"
	PageFile   = "page"
	SocketFile = "socket"
)

// Magic numbers and the version of the layout.
const (
	GrantMagic uint64 = 0x31746e6172476941
	PageMagic  uint64 = 0x3165676150476941
	Layout     uint32 = 1
	Slots             = 512
)

// Flags of a grant.
const (
	HasMemory uint32 = 1 << iota
	HasCompute
	Lend
	Borrow
	Revocable
)

// LeaseKind says on whose account a lease is.
type LeaseKind uint32

// The kinds of leases.
const (
	LeaseNone LeaseKind = iota
	LeaseOwn
	LeaseBorrowed
)

// Reclaim is what the processes of a slice are asked to do about their memory.
type Reclaim uint32

// The steps of taking memory back, strongest last.
const (
	ReclaimNone Reclaim = iota
	ReclaimRefuse
	ReclaimTrim
	ReclaimDemote
)

// Grant is what the agent allows a slice. The words from Turn on change all the
// time; use the atomic functions of sharer/socket for them.
type Grant struct {
	Magic   uint64
	Layout  uint32
	Size    uint32
	GPUUUID [16]byte
	Slice   [64]byte
	GPUName [64]byte

	Flags             uint32
	GuaranteePermille uint32
	MaxPermille       uint32
	Reclaim           uint32
	MemoryBytes       uint64
	GuaranteedBytes   uint64
	ContextBytes      uint64
	WindowNs          uint64
	LingerNs          uint64
	StaleNs           uint64
	PeriodNs          uint64
	OffsetNs          uint64
	LengthNs          uint64
	_                 [8]byte

	Turn        uint32
	LeaseKind   uint32
	UntilNs     uint64
	HeartbeatNs uint64
	ComingNs    uint64
	_           [32]byte
}

// Slot is what one process says of itself.
type Slot struct {
	Owner         uint64
	StartTime     uint64
	BuildID       [20]byte
	DriverVersion uint32
	Hooks         uint32
	Found         uint32
	Unknown       uint32
	Problems      uint32
	_             [8]byte

	CommittedBytes uint64
	PendingBytes   uint64
	OverheadBytes  uint64
	ManagedBytes   uint64
	HostBytes      uint64
	PeakBytes      uint64
	Refused        uint64
	_              [8]byte

	Launches  uint64
	BusyNs    uint64
	WaitedNs  uint64
	Waits     uint64
	LongestNs uint64
	DoneNs    uint64
	Waiting   uint32
	Inflight  uint32
	BusyTurn  uint32
	_         [68]byte
}

// Problems of a slot.
const (
	ProblemExportTable uint32 = 1 << iota
	ProblemTool
	ProblemUngated
)

// Page is what the processes of a slice say of themselves.
type Page struct {
	Magic    uint64
	Layout   uint32
	Size     uint32
	Slots    uint32
	SlotSize uint32
	Used     uint32
	_        [4096 - 28]byte
	Slot     [Slots]Slot
}

// Sizes in bytes.
const (
	GrantSize   = int(unsafe.Sizeof(Grant{}))
	SlotSize    = int(unsafe.Sizeof(Slot{}))
	PageSize    = int(unsafe.Sizeof(Page{}))
	MessageSize = 32
)

// Type says what a message is about.
type Type uint32

// The messages: Hello, Want, Closing, Drained and Short come from a process,
// Welcome and Refused from the agent.
const (
	Hello Type = iota + 1
	Welcome
	Refused
	Want
	Closing
	Drained
	Short
)

// Refusal is the reason of a Refused message, in its A.
type Refusal uint64

// Why a process is not let in.
const (
	RefusedLayout Refusal = iota + 1
	RefusedIdentity
	RefusedFull
)

// Message is one packet of a slice's socket. What A and B mean depends on the
// type; wire.h says it.
type Message struct {
	Type   Type
	Slot   uint32
	Turn   uint32
	Layout uint32
	A, B   uint64
}

// Append appends the packet to b. Integers are in host order.
func (m Message) Append(b []byte) []byte {
	b = binary.NativeEndian.AppendUint32(b, uint32(m.Type))
	b = binary.NativeEndian.AppendUint32(b, m.Slot)
	b = binary.NativeEndian.AppendUint32(b, m.Turn)
	b = binary.NativeEndian.AppendUint32(b, m.Layout)
	b = binary.NativeEndian.AppendUint64(b, m.A)
	return binary.NativeEndian.AppendUint64(b, m.B)
}

// Parse reads a packet. It fails on one of another size, and of another layout
// than this one: then nothing behind the layout may be believed.
func Parse(b []byte) (Message, error) {
	if len(b) != MessageSize {
		return Message{}, fmt.Errorf("parse message: %d bytes, want %d", len(b), MessageSize)
	}
	n := binary.NativeEndian
	m := Message{
		Type: Type(n.Uint32(b)), Slot: n.Uint32(b[4:]), Turn: n.Uint32(b[8:]), Layout: n.Uint32(b[12:]),
		A: n.Uint64(b[16:]), B: n.Uint64(b[24:]),
	}
	if m.Layout != Layout {
		return m, fmt.Errorf("parse message: layout %d, this agent speaks %d", m.Layout, Layout)
	}
	return m, nil
}
