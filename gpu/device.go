// SPDX-License-Identifier: Apache-2.0

package gpu

// NUMAUnknown is the NUMA node of a device whose locality the machine does not
// report. It must never be passed on as a node number.
const NUMAUnknown = -1

// BlocksPerGPU is the number of blocks that a GPU in Block mode is divided into.
const BlocksPerGPU = 100

// Mode says how one GPU is cut.
type Mode string

const (
	// ModeWhole hands the GPU out undivided, alone or together with others.
	ModeWhole Mode = "Whole"
	// ModeMIG cuts the GPU into hardware instances.
	ModeMIG Mode = "MIG"
	// ModeBlock cuts the GPU into shares of 1/100 of its compute and memory.
	ModeBlock Mode = "Block"
)

// GPU is one physical GPU as the driver describes it. It is plain data: a copy
// stays true to the moment it was read.
type GPU struct {
	// Index is the driver's index, from 0. It can change over a reboot.
	Index int
	// Minor is the number of the device node /dev/nvidiaN.
	Minor int
	// UUID is the driver's identity of the board, "GPU-…"; it never changes.
	UUID string
	// Model is the product name, for example "NVIDIA H200".
	Model string
	// MemoryBytes is the total device memory.
	MemoryBytes int64
	// NUMANode is the node that the GPU is attached to, or NUMAUnknown.
	NUMANode int
	// PCIBusID is the full bus address, for example "00000000:3B:00.0".
	PCIBusID string
	// MIG describes hardware partitioning; nil for a GPU that has none.
	MIG *MIG
}

// MIG is what a MIG-capable GPU can do and in which mode it is.
type MIG struct {
	// Enabled is the current mode, Pending the mode after the next reset.
	Enabled, Pending bool
	// LiveToggle is true where the mode changes without a GPU reset (Hopper
	// and later). Such a mode does not survive a reboot.
	LiveToggle bool
	// Profiles are the instance profiles that the driver offers, in the
	// driver's order.
	Profiles []Profile
}

// Profile is one kind of GPU instance, read from the driver at run time. Its
// printed name drifts between drivers, so it is told apart by its numbers.
type Profile struct {
	// Enum is the NVML profile constant and ID the driver's own number.
	Enum, ID int
	// Name is for people only, for example "1g.18gb".
	Name string
	// ComputeSlices and MemorySlices are what one instance occupies.
	ComputeSlices, MemorySlices int
	// Multiprocessors is the number of SMs of one instance.
	Multiprocessors int
	// MemoryBytes is the usable memory of one instance.
	MemoryBytes int64
	// MaxCount is how many such instances a GPU can hold at once.
	MaxCount int
	// MediaExtensions is true for a +me profile: at most one per GPU.
	MediaExtensions bool
	// Placements are the legal positions, in ascending order of Start.
	Placements []Placement
}

// Placement is an interval of memory slices on one GPU.
type Placement struct {
	Start, Size int
}

// Overlaps reports whether two placements share a memory slice.
func (p Placement) Overlaps(q Placement) bool {
	return p.Start < q.Start+q.Size && q.Start < p.Start+p.Size
}

// Instance is a MIG GPU instance with its single compute instance, as it exists
// on the hardware now. GIID, CIID and UUID change at each creation.
type Instance struct {
	GPU        string // UUID of the GPU
	ProfileID  int    // the driver's number, as Profile.ID
	Placement  Placement
	GIID, CIID int    // CIID is -1 while the compute instance is missing
	UUID       string // "MIG-…", empty while the compute instance is missing
}
