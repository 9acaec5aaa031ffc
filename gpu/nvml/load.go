// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"encoding/binary"
	"fmt"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Load is how busy a GPU was.
type Load struct {
	// PeakPercent is the busiest moment: the part of a driver's sample, some
	// tenths of a second, in which kernels ran or the video engines worked.
	PeakPercent int
	// Known is false where the driver does not tell, as under MIG.
	Known bool
	// Seen is what the next call is given as since.
	Seen uint64
}

// Load reads how busy a GPU was since an earlier call. since is what that one
// returned as Seen; with 0, or with one from before the machine's clock was set
// back, only this moment counts.
func (d *Driver) Load(ctx context.Context, uuid string, since uint64) (Load, error) {
	return locked(ctx, d, uuid, func(dev gonvml.Device) (Load, error) {
		l := Load{Seen: since}
		if err := d.history(dev, since, &l); err != nil {
			return Load{Seen: since}, fmt.Errorf("read utilization samples: %w", err)
		}
		if err := moment(dev, &l); err != nil {
			return Load{Seen: since}, fmt.Errorf("read utilization: %w", err)
		}
		return l, nil
	})
}

// history takes in the driver's samples of the GPU, or where it keeps none those
// of its processes. No sample at all says nothing: the moment decides.
func (d *Driver) history(dev gonvml.Device, since uint64, l *Load) error {
	take := func(at uint64, percent int) {
		if at <= since || percent > 100 {
			return // an unused entry of the driver's buffer
		}
		l.Seen = max(l.Seen, at)
		if since > 0 {
			l.PeakPercent = max(l.PeakPercent, percent)
		}
	}
	if d.has("nvmlDeviceGetSamples") {
		_, samples, ret := dev.GetSamples(gonvml.GPU_UTILIZATION_SAMPLES, since)
		if ret == gonvml.SUCCESS {
			for _, s := range samples { // unsigned int, by nvml.h
				take(s.TimeStamp, int(binary.NativeEndian.Uint32(s.SampleValue[:4])))
			}
			return nil
		}
		if ret != gonvml.ERROR_NOT_FOUND && !unsupported(ret) {
			return check(ret)
		}
	}
	if !d.has("nvmlDeviceGetProcessUtilization") {
		return nil
	}
	samples, ret := dev.GetProcessUtilization(since)
	if ret != gonvml.SUCCESS && ret != gonvml.ERROR_NOT_FOUND && !unsupported(ret) {
		return check(ret)
	}
	for _, s := range samples {
		take(s.TimeStamp, int(s.SmUtil))
	}
	return nil
}

// moment takes in the driver's last sample of each engine.
func moment(dev gonvml.Device, l *Load) error {
	rates, ret := dev.GetUtilizationRates()
	if unsupported(ret) {
		return nil
	}
	if ret != gonvml.SUCCESS {
		return check(ret)
	}
	l.Known = true
	l.PeakPercent = max(l.PeakPercent, int(rates.Gpu))
	for _, engine := range []func() (uint32, uint32, gonvml.Return){dev.GetEncoderUtilization, dev.GetDecoderUtilization} {
		percent, _, ret := engine()
		if ret == gonvml.SUCCESS {
			l.PeakPercent = max(l.PeakPercent, int(percent))
		} else if !unsupported(ret) {
			return check(ret)
		}
	}
	return nil
}
