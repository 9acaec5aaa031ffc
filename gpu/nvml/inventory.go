// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"aipub.io/aipub/gpu"
)

// Inventory is what the driver says about the node at one moment.
type Inventory struct {
	// DriverVersion as nvidia-smi shows it, NVMLVersion of the library, and
	// CUDAVersion, the newest CUDA that the driver can run, such as "13.0".
	DriverVersion, NVMLVersion, CUDAVersion string
	// GPUs that answer, in the driver's order.
	GPUs []gpu.GPU
	// Failed are the GPUs that do not.
	Failed []Failure
}

// Failure is a GPU that could not be read.
type Failure struct {
	Index int
	// UUID is empty when this Driver never saw the GPU answer.
	UUID string
	Err  error
}

// Inventory reads versions and GPUs. One GPU that does not answer is reported
// in Failed and does not hide the others; an error means that nothing could be
// read. A GPU that is slower than ctx allows counts as failed.
func (d *Driver) Inventory(ctx context.Context) (Inventory, error) {
	inv, count, err := d.versions(ctx)
	if err != nil {
		return Inventory{}, err
	}
	type answer struct {
		gpu gpu.GPU
		err error
	}
	answers := make([]chan answer, count)
	for i := range answers {
		answers[i] = make(chan answer, 1)
		go func() {
			g, err := d.readGPU(ctx, i)
			answers[i] <- answer{g, err}
		}()
	}
	for i, c := range answers {
		a := <-c
		if a.err != nil {
			inv.Failed = append(inv.Failed, Failure{Index: i, UUID: d.lastAt(i), Err: a.err})
			continue
		}
		inv.GPUs = append(inv.GPUs, a.gpu)
	}
	return inv, nil
}

// versions reads what belongs to the driver as a whole.
func (d *Driver) versions(ctx context.Context) (Inventory, int, error) {
	type result struct {
		inv   Inventory
		count int
	}
	r, err := call(ctx, d, func() (result, error) {
		var r result
		var ret gonvml.Return
		if r.inv.DriverVersion, ret = d.api.SystemGetDriverVersion(); ret != gonvml.SUCCESS {
			return r, fmt.Errorf("read driver version: %w", check(ret))
		}
		if r.inv.NVMLVersion, ret = d.api.SystemGetNVMLVersion(); ret != gonvml.SUCCESS {
			return r, fmt.Errorf("read NVML version: %w", check(ret))
		}
		if v, ret := d.api.SystemGetCudaDriverVersion(); ret == gonvml.SUCCESS {
			r.inv.CUDAVersion = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
		}
		if r.count, ret = d.api.DeviceGetCount(); ret != gonvml.SUCCESS {
			return r, fmt.Errorf("count GPUs: %w", check(ret))
		}
		return r, nil
	})
	return r.inv, r.count, err
}

// lastAt is the UUID that was last read at an index.
func (d *Driver) lastAt(index int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byPos[index]
}

// readGPU reads one GPU under its lock.
func (d *Driver) readGPU(ctx context.Context, index int) (gpu.GPU, error) {
	uuid, err := call(ctx, d, func() (string, error) { return d.identify(index) })
	if err != nil {
		return gpu.GPU{}, fmt.Errorf("identify GPU %d: %w", index, err)
	}
	return locked(ctx, d, uuid, func(dev gonvml.Device) (gpu.GPU, error) {
		return d.describe(dev, index, uuid)
	})
}

// identify finds the UUID at an index and remembers its handle.
func (d *Driver) identify(index int) (string, error) {
	dev, ret := d.api.DeviceGetHandleByIndex(index)
	if ret != gonvml.SUCCESS {
		return "", check(ret)
	}
	uuid, ret := dev.GetUUID()
	if ret != gonvml.SUCCESS {
		return "", check(ret)
	}
	d.remember(uuid, dev)
	d.mu.Lock()
	d.byPos[index] = uuid
	d.mu.Unlock()
	return uuid, nil
}

// describe reads everything about one GPU.
func (d *Driver) describe(dev gonvml.Device, index int, uuid string) (gpu.GPU, error) {
	g := gpu.GPU{Index: index, UUID: uuid}
	var ret gonvml.Return
	if g.Model, ret = dev.GetName(); ret != gonvml.SUCCESS {
		return g, fmt.Errorf("read name: %w", check(ret))
	}
	if g.Minor, ret = dev.GetMinorNumber(); ret != gonvml.SUCCESS {
		return g, fmt.Errorf("read minor number: %w", check(ret))
	}
	memory, ret := dev.GetMemoryInfo()
	if ret != gonvml.SUCCESS {
		return g, fmt.Errorf("read memory size: %w", check(ret))
	}
	g.MemoryBytes = int64(memory.Total)
	pci, ret := dev.GetPciInfo()
	if ret != gonvml.SUCCESS {
		return g, fmt.Errorf("read PCI address: %w", check(ret))
	}
	g.PCIBusID = cString(pci.BusId[:])
	g.NUMANode = d.numaNode(dev, g.PCIBusID)
	mig, err := d.readMIG(dev, g.MemoryBytes)
	if err != nil {
		return g, err
	}
	g.MIG = mig
	return g, nil
}

// cString reads a C string out of a fixed array.
func cString(chars []int8) string {
	text := make([]byte, 0, len(chars))
	for _, c := range chars {
		if c == 0 {
			break
		}
		text = append(text, byte(c))
	}
	return string(text)
}
