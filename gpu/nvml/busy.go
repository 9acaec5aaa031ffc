// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Busy is how busy each process kept a GPU since an earlier call, by PID in the
// host's process namespace: the mean of the driver's samples, in percent of the
// time. since is what the earlier call returned as seen, 0 at first. A process
// of which the driver has no new sample is absent. Nil where the driver does not
// tell, as under MIG.
func (d *Driver) Busy(ctx context.Context, uuid string, since uint64) (percent map[int]int, seen uint64, err error) {
	samples, err := locked(ctx, d, uuid, func(dev gonvml.Device) ([]gonvml.ProcessUtilizationSample, error) {
		if !d.has("nvmlDeviceGetProcessUtilization") {
			return nil, nil
		}
		samples, ret := dev.GetProcessUtilization(since)
		if ret == gonvml.SUCCESS || ret == gonvml.ERROR_NOT_FOUND || unsupported(ret) {
			return samples, nil
		}
		return nil, fmt.Errorf("read utilization of processes: %w", check(ret))
	})
	if err != nil {
		return nil, since, err
	}
	sum, count := map[int]int{}, map[int]int{}
	for _, s := range samples {
		if s.TimeStamp <= since || s.SmUtil > 100 {
			continue // unused entries of the driver's buffer
		}
		sum[int(s.Pid)] += int(s.SmUtil)
		count[int(s.Pid)]++
		seen = max(seen, s.TimeStamp)
	}
	percent = map[int]int{}
	for pid, n := range count {
		percent[pid] = sum[pid] / n
	}
	return percent, max(seen, since), nil
}
