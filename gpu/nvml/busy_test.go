// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/test/gpusim"
)

func TestBusyIsThePercentOfEachProcess(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	uuid := mustInventory(t, d).GPUs[2].UUID
	if got, seen, err := d.Busy(testContext(t), uuid, 0); err != nil || len(got) != 0 || seen != 0 {
		t.Errorf("an idle GPU: %v, %d, %v", got, seen, err)
	}
	m.Ctl("process", "add", "2", "4711", "--memory", "512MiB", "--sm", "37")
	m.Ctl("process", "add", "2", "4712", "--memory", "1MiB", "--sm", "0")
	got, seen, err := d.Busy(testContext(t), uuid, 0)
	if diff := cmp.Diff(map[int]int{4711: 37, 4712: 0}, got); diff != "" || err != nil {
		t.Errorf("busy (-want +got), error %v:\n%s", err, diff)
	}
	if later, again, err := d.Busy(testContext(t), uuid, seen+1e9); err != nil || len(later) != 0 || again != seen+1e9 {
		t.Errorf("nothing new since: %v, %d, %v", later, again, err)
	}
}
