// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	api "aipub.io/aipub/api/v1alpha1"
)

func hash(n int) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%064x", n)}
}

func originOf(config string, layers int) *origin {
	o := &origin{snapshotter: "overlayfs", config: []byte(config)}
	for i := range layers {
		o.diffIDs = append(o.diffIDs, hash(i))
		o.layers = append(o.layers, v1.Descriptor{MediaType: types.DockerLayer, Digest: hash(100 + i), Size: 5})
	}
	return o
}

var saved = layer{v1.Descriptor{MediaType: types.OCILayer, Digest: hash(200), Size: 7}, hash(50)}

func TestAConfigurationKeepsWhatItDoesNotKnow(t *testing.T) {
	const before = `{"architecture":"arm64","os":"linux","new.field":{"x":1},
		"config":{"Env":["A=b"],"Unknown":7,"Labels":{"mine":"1","aipub.io/base-layers":"9"}},
		"rootfs":{"type":"layers","diff_ids":["sha256:0","sha256:1","sha256:2"]},
		"history":[{"created_by":"a"},{"created_by":"b","empty_layer":true},{"created_by":"c"},{"created_by":"d","empty_layer":true},{"created_by":"saved before"}]}`
	before2 := strings.NewReplacer(`"sha256:0"`, `"`+hash(0).String()+`"`, `"sha256:1"`, `"`+hash(1).String()+`"`, `"sha256:2"`, `"`+hash(2).String()+`"`).Replace(before)
	raw, err := newConfig(originOf(before2, 2), saved, "i:one", time.Unix(1000, 0))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"architecture":"arm64","os":"linux","new.field":{"x":1},"created":"1970-01-01T00:16:40Z",
		"config":{"Env":["A=b"],"Unknown":7,"Labels":{"mine":"1","aipub.io/base-layers":"2"}},
		"rootfs":{"type":"layers","diff_ids":[%q,%q,%q]},
		"history":[{"created":"0001-01-01T00:00:00Z","created_by":"a"},{"created":"0001-01-01T00:00:00Z","created_by":"b","empty_layer":true},
			{"created":"0001-01-01T00:00:00Z","created_by":"c"},{"created":"0001-01-01T00:00:00Z","created_by":"d","empty_layer":true},
			{"created":"1970-01-01T00:16:40Z","created_by":"aipub-node","comment":"saved as i:one"}]}`, hash(0), hash(1), hash(50))
	var got, wanted any
	if err := errors.Join(json.Unmarshal(raw, &got), json.Unmarshal([]byte(want), &wanted)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestAHistoryThatTellsOfOtherLayersIsLeftOut(t *testing.T) {
	for _, config := range []string{`{}`, `{"history":[{"created_by":"a"}]}`, `{"config":null}`} {
		raw, err := newConfig(originOf(config, 2), saved, "i:one", time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		var got v1.ConfigFile
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.History) != 0 || len(got.RootFS.DiffIDs) != 3 {
			t.Errorf("%s: history %v, layers %v", config, got.History, got.RootFS.DiffIDs)
		}
	}
}

func TestAManifestNamesTheBaseAndOneLayerAndHoldsThem(t *testing.T) {
	raw, labels, err := newManifest(originOf(`{}`, 2), saved, v1.Descriptor{MediaType: types.OCIConfigJSON, Digest: hash(300), Size: 9})
	if err != nil {
		t.Fatal(err)
	}
	var got v1.Manifest
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []v1.Hash{hash(100), hash(101), hash(200)} {
		if l := got.Layers[i]; l.Digest != want || l.MediaType != types.OCILayer {
			t.Errorf("layer %d: %v", i, l)
		}
		if held := labels[fmt.Sprintf("containerd.io/gc.ref.content.l.%d", i)]; held != want.String() {
			t.Errorf("layer %d holds %s", i, held)
		}
	}
	if labels["containerd.io/gc.ref.content.config"] != hash(300).String() || len(labels) != 4 {
		t.Errorf("labels %v", labels)
	}
}

func TestTheBaseIsWhatTheLabelSaysUnlessItCannotBe(t *testing.T) {
	for label, want := range map[string]int{"": 3, "2": 2, "0": 0, "3": 3, "4": 3, "-1": 3, "many": 3} {
		config := v1.ConfigFile{RootFS: v1.RootFS{DiffIDs: []v1.Hash{hash(0), hash(1), hash(2)}}}
		config.Config.Labels = map[string]string{BaseLayersLabel: label}
		if got := baseLayers(config); got != want {
			t.Errorf("label %q: %d layers, want %d", label, got, want)
		}
	}
}

func TestAFullDiskIsKnownHoweverItIsTold(t *testing.T) {
	for _, err := range []error{
		syscall.ENOSPC, fmt.Errorf("write x: %w", syscall.EDQUOT),
		status.Error(codes.Unknown, "failed to write diff: write /x: no space left on device"),
		failed("outer", failed("inner", syscall.ENOSPC)),
	} {
		wantReason(t, failed("do", err), api.ReasonDiskFull)
	}
	wantReason(t, failed("do", status.Error(codes.Unavailable, "connection refused")), api.ReasonRuntimeFailed)
	wantReason(t, failed("do", because(api.ReasonContainerGone, "gone")), api.ReasonContainerGone)
}
