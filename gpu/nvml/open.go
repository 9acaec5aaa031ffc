// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"errors"
	"fmt"
	"sync"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Config says where the driver is.
type Config struct {
	// LibraryPath of libnvidia-ml.so.1. Empty: the dynamic loader searches it.
	LibraryPath string
	// Sysfs is where the host's /sys is; default "/sys".
	Sysfs string
}

// Driver is an open NVML library. Its methods may be called from any goroutine.
type Driver struct {
	api   gonvml.Interface
	sysfs string

	open   sync.RWMutex // held for reading over each call of the library
	closed bool

	symbols map[string]bool // optional call → the library has it; never changes

	mu     sync.Mutex
	boards map[string]*board // by UUID; only grows
	byPos  map[int]string    // index → UUID as last read
}

// Open loads and initializes the library. Where that is impossible the error
// says which file was tried and what to do.
func Open(c Config) (*Driver, error) {
	var opts []gonvml.LibraryOption
	path := c.LibraryPath
	if path != "" {
		opts = append(opts, gonvml.WithLibraryPath(path))
	} else {
		path = "libnvidia-ml.so.1"
	}
	if c.Sysfs == "" {
		c.Sysfs = "/sys"
	}
	api := gonvml.New(opts...)
	if ret := api.Init(); ret != gonvml.SUCCESS {
		return nil, fmt.Errorf("open %s: %w", path, openError(ret))
	}
	return &Driver{
		api:     api,
		sysfs:   c.Sysfs,
		boards:  map[string]*board{},
		byPos:   map[int]string{},
		symbols: lookUp(api),
	}, nil
}

// openError adds to the driver's answer what the administrator can do.
func openError(ret gonvml.Return) error {
	switch ret {
	case gonvml.ERROR_LIBRARY_NOT_FOUND:
		return fmt.Errorf("%w: the library cannot be loaded; install the NVIDIA driver, or give the path of libnvidia-ml.so.1", check(ret))
	case gonvml.ERROR_DRIVER_NOT_LOADED:
		return fmt.Errorf("%w: the kernel module is not loaded; load nvidia.ko", check(ret))
	case gonvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return fmt.Errorf("%w: library and kernel module are of different versions; reboot the node or reload the module", check(ret))
	case gonvml.ERROR_NO_PERMISSION:
		return fmt.Errorf("%w: no access to /dev/nvidiactl; run as root with the GPU's device nodes", check(ret))
	default:
		return check(ret)
	}
}

// Close waits for every call that is under way, also those that nobody waits for
// any more and those of Lend, and gives the library back. Watch must have ended. Later calls
// answer ErrClosed.
func (d *Driver) Close() error {
	d.open.Lock()
	defer d.open.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	if err := check(d.api.Shutdown()); err != nil {
		return fmt.Errorf("close NVML: %w", err)
	}
	return nil
}

// Lend gives the library itself to a package that speaks NVML on its own, such as the
// container toolkit, for the time of a call, and returns what that returned. The Driver
// stays open meanwhile: go-nvml keeps what it found in a library in variables of the
// process, which must not change while anybody reads them, if only for an error's text.
func (d *Driver) Lend(use func(gonvml.Interface) error) error {
	d.open.RLock()
	defer d.open.RUnlock()
	if d.closed {
		return ErrClosed
	}
	return use(d.api)
}

// optional are the calls that not every driver has. They are all looked up when
// the library is opened: go-nvml's lookup must not run beside an Init, which the
// container toolkit does at any time.
var optional = []string{
	"nvmlDeviceGetGpuInstanceProfileInfoV",
	"nvmlDeviceGetMPSComputeRunningProcesses",
	"nvmlDeviceGetMPSComputeRunningProcesses_v2",
	"nvmlDeviceGetMPSComputeRunningProcesses_v3",
	"nvmlDeviceGetMemoryAffinity",
	"nvmlDeviceGetMemoryLimits_v1",
	"nvmlDeviceGetMigMode",
	"nvmlDeviceGetProcessUtilization",
	"nvmlDeviceGetSamples",
	"nvmlDeviceSetMemoryLimits_v1",
}

// lookUp finds out which of the optional calls the library exports.
func lookUp(api gonvml.Interface) map[string]bool {
	found := map[string]bool{}
	for _, symbol := range optional {
		found[symbol] = api.Extensions().LookupSymbol(symbol) == nil
	}
	return found
}

// has reports whether the loaded library exports one of the optional calls.
func (d *Driver) has(symbol string) bool { return d.symbols[symbol] }

// Errors that callers tell apart with errors.Is.
var (
	// ErrNoGPU: the driver does not know the GPU.
	ErrNoGPU = errors.New("no such GPU")
	// ErrLost: the GPU does not answer any more; it has fallen off the bus.
	ErrLost = errors.New("GPU is lost")
	// ErrDenied: the process lacks the privilege for the call.
	ErrDenied = errors.New("no permission")
	// ErrClosed: this Driver was closed.
	ErrClosed = errors.New("NVML is closed")
	// ErrUnloaded: the driver was unloaded or reset as a whole; close this
	// Driver and open another.
	ErrUnloaded = errors.New("driver was unloaded")
)

// check turns an NVML return code into an error; nil for SUCCESS. Codes with a
// sentinel of this package wrap both, so that errors.Is finds either.
func check(ret gonvml.Return) error {
	switch ret {
	case gonvml.SUCCESS:
		return nil
	case gonvml.ERROR_GPU_IS_LOST:
		return fmt.Errorf("%w (%w)", ErrLost, ret)
	case gonvml.ERROR_NOT_FOUND, gonvml.ERROR_GPU_NOT_FOUND:
		return fmt.Errorf("%w (%w)", ErrNoGPU, ret)
	case gonvml.ERROR_NO_PERMISSION:
		return fmt.Errorf("%w (%w)", ErrDenied, ret)
	case gonvml.ERROR_UNINITIALIZED, gonvml.ERROR_DRIVER_NOT_LOADED:
		return fmt.Errorf("%w (%w)", ErrUnloaded, ret)
	default:
		return fmt.Errorf("%w", ret) // its text now: see Lend
	}
}

// unsupported reports whether the answer means that this GPU or driver does
// not have the feature, as against a failure.
func unsupported(ret gonvml.Return) bool {
	return ret == gonvml.ERROR_NOT_SUPPORTED || ret == gonvml.ERROR_FUNCTION_NOT_FOUND
}
