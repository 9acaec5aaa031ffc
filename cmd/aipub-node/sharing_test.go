// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"

	"aipub.io/aipub/cdi"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/test/gpusim"
)

// limit switches a rig's limiter on. The library is a file that nobody loads
// here.
func (r *rig) limit() {
	r.t.Helper()
	image := r.t.TempDir()
	r.must(os.WriteFile(filepath.Join(image, "libaipub-1.so"), []byte("library"), 0o755))
	r.must(os.WriteFile(filepath.Join(image, "aipub-cdi-hook"), []byte("hook"), 0o755))
	r.options.limiter, r.options.limiterDir = true, image
	r.options.runDir, r.options.pids, r.options.contextMiB = filepath.Join(filepath.Dir(r.options.cdiDir), "run"), "/proc", 512
}

// folder is what the container of a slice is given.
func (r *rig) folder(slice string) string { return filepath.Join(r.options.runDir, "slices", slice) }

// guaranteed is what the grant of a slice says; 0 without one. The offset is the
// one of guarantee_permille in wire.h.
func (r *rig) guaranteed(slice string) int {
	grant, err := os.ReadFile(filepath.Join(r.folder(slice), "grant"))
	if err != nil || len(grant) < 168 {
		return 0
	}
	return int(binary.NativeEndian.Uint32(grant[164:]))
}

func TestASliceCanBeUsedWhenItsContainerStarts(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.limit()
	r.want(threeWays)
	r.start()
	r.allocatable("small", 4)
	var small gpu.Slice
	for _, st := range r.agent.state.Snapshot().Slices {
		if st.Slice.Set == "small" {
			small = st.Slice
		}
	}
	r.must(r.agent.state.Claim("small", []gpu.SliceID{small.ID}))
	if _, err := r.agent.respond([]gpu.Slice{small}); err != nil {
		t.Fatal(err)
	}
	if got := r.guaranteed(string(small.ID)); got != 250 {
		t.Errorf("Allocate has answered, and the slice's grant guarantees %d thousandths, want 250", got)
	}
	spec, err := os.ReadFile(filepath.Join(r.options.cdiDir, cdi.FileName(small.ID)))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{r.folder(string(small.ID)), "libaipub-1.so", "createContainer"} {
		if !strings.Contains(string(spec), want) {
			t.Errorf("the container's spec lacks %q:\n%s", want, spec)
		}
	}
}

func TestSharesFollowTheHolders(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.limit()
	r.want(threeWays)
	r.start()
	r.allocatable("small", 4)
	pod, ids := r.pod("small", 2)
	r.eventually("one container with two slices is one tenant", func() bool {
		rep := r.agent.report()
		return len(rep.Tenants) == 1 && rep.Tenants[0].Pod == pod.Name && len(rep.Tenants[0].Slices) == 2 && rep.Tenants[0].Percent == 50
	})
	h := newMetrics().handler(r.agent)
	code, body := get(t, h, sharer.ReportPath)
	var served sharer.Report
	if err := json.Unmarshal([]byte(body), &served); code != http.StatusOK || err != nil || len(served.Tenants) != 1 {
		t.Errorf("%s answers %d, %v: %s", sharer.ReportPath, code, err, body)
	}
	if _, body := get(t, h, "/metrics"); !strings.Contains(body, `aipub_share_guaranteed_ratio{container="main",namespace="team",pod="`+pod.Name+`"`) {
		t.Errorf("the metrics lack the share of %s", pod.Name)
	}
	r.end()
	if r.guaranteed(ids[0]) != 250 {
		t.Error("the slice's folder is gone with the agent; its container goes on by it")
	}
	r.start()
	r.eventually("the next agent serves it", func() bool { return len(r.agent.report().Tenants) == 1 })
	r.delete(pod)
	r.eventually("the folder goes with the pod", func() bool {
		_, err := os.Stat(r.folder(ids[0]))
		return os.IsNotExist(err)
	})
}

func TestWithoutTheLibraryTheAgentSaysSo(t *testing.T) {
	o := options{limiter: true, limiterDir: t.TempDir(), stateDir: t.TempDir()}
	_, err := openSharing(o, testr.New(t))
	if err == nil || !strings.Contains(err.Error(), "--limiter-dir") || !strings.Contains(err.Error(), "--limiter=false") {
		t.Errorf("the agent starts without its limiter, or does not say what to do: %v", err)
	}
	if s, err := openSharing(options{}, testr.New(t)); s != nil || err != nil {
		t.Errorf("--limiter=false: %v, %v", s, err)
	}
}

func TestRecentIsTheDifferenceOfTwoReports(t *testing.T) {
	var r recent
	report := func(at time.Duration, used, lent time.Duration) sharer.Report {
		return sharer.Report{At: sharer.Instant(at), Tenants: []sharer.TenantReport{{ID: "a", Slices: []string{"s"}, Used: used, Lent: lent, MemoryBytes: 1 << 30, Processes: 2}}}
	}
	if r.share("s", nil) != nil {
		t.Error("a slice of which nothing is known has a share")
	}
	r.take(report(time.Minute, 10*time.Second, 0))
	r.take(report(2*time.Minute, 25*time.Second, 6*time.Second))
	s := r.share("s", nil)
	if s == nil || s.UsedPercent != 25 || s.LentPercent != 10 || s.Memory.String() != "1Gi" || s.Processes != 2 {
		t.Errorf("share %+v, want used 25 %%, lent 10 %%, 1Gi, 2 processes", s)
	}
}
